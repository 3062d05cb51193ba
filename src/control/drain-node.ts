import { type Millis, type NodeId, plus } from "../core/ids.ts";
import type { NodeDrain } from "../core/node.ts";
import { type Replica, REPLICA_TRAITS, shareOn } from "../core/replica-state.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Snapshot, StoredNode } from "../store/store.ts";
import type { Change } from "./manifest-change.ts";

/** Known names, for whoever misspelt one. */
type Unknown = readonly string[];

/** What `drain` does without a word on the deadline. */
export const USUAL_DRAIN_MINUTES = 15;

/** Closes the node to new replicas, or opens it again; opening ends a drain too. */
export function cordonNode(before: Snapshot, name: string, cordoned: boolean): Result<Change<undefined>, Unknown> {
  return alter(before, name, ({ drain, ...node }) => ({
    node: { ...node, cordoned, ...(cordoned && drain !== undefined ? { drain } : {}) },
    reason: cordoned ? "NodeCordoned" : "NodeUncordoned",
    message: cordoned
      ? `${name} is cordoned: it gets no new replicas; those on it stay`
      : `${name} is open again${drain === undefined ? "" : ": it is not being drained any more"}`,
  }));
}

/** Cordons the node and has its replicas replaced elsewhere, each before it goes; `within` from now on they go anyway. */
export function drainNode(
  before: Snapshot,
  name: string,
  { now, within }: { readonly now: Millis; readonly within: Millis },
): Result<Change<NodeDrain>, Unknown> {
  const drain = { since: now, deadline: plus(now, within) };
  const until = new Date(drain.deadline).toISOString();
  const left = replicasOn(before.replicas, name).length;
  const altered = alter(before, name, (node) => ({
    node: { ...node, cordoned: true, drain },
    reason: "NodeDraining",
    message: `${name} is being drained: ${String(left)} of its replicas are replaced elsewhere first, until ${until} at the latest`,
  }));
  return altered.ok ? ok({ ...altered.value, answer: drain }) : altered;
}

interface Altered {
  readonly node: StoredNode;
  readonly reason: string;
  readonly message: string;
}

function alter(before: Snapshot, name: string, how: (node: StoredNode) => Altered): Result<Change<undefined>, Unknown> {
  const found = before.nodes.find(({ id }) => id === name);
  if (found === undefined) return err(before.nodes.map(({ id }) => id));
  const { node, reason, message } = how(found);
  const isSame = node.cordoned === found.cordoned && node.drain === found.drain;
  if (isSame) return ok({ snapshot: before, events: [], answer: undefined });
  const nodes = before.nodes.map((one) => (one.id === name ? node : one));
  const event = { level: "info", subjectKind: "node", subject: name, reason, message } as const;
  return ok({ snapshot: { ...before, nodes }, events: [event], answer: undefined });
}

/** A node on which nothing is left is only cordoned from then on. */
export function withoutFinishedDrains({ nodes, replicas }: Snapshot): readonly StoredNode[] {
  if (!nodes.some(({ drain }) => drain !== undefined)) return nodes;
  return nodes.map((node) => {
    const { drain, ...rest } = node;
    return drain === undefined || replicasOn(replicas, node.id).length > 0 ? node : rest;
  });
}

/** Those that hold something of the node. */
export const replicasOn = (replicas: readonly Replica[], node: NodeId | string): readonly Replica[] =>
  replicas.filter(
    ({ placement, state }) => shareOn(placement, node) !== undefined && REPLICA_TRAITS[state.kind].holdsResources,
  );
