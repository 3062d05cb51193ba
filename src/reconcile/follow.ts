import type { NodeId } from "../core/ids.ts";
import type { NodeLiveness } from "../core/node.ts";
import type { ObservedReplica, ObservedState } from "../core/observed.ts";
import type { Replica, ReplicaKind, ReplicaState } from "../core/replica-state.ts";
import { assertNever } from "../core/result.ts";

/** What a node last said, and whether it says anything now. */
export interface NodeReport {
  readonly liveness: NodeLiveness;
  /** Undefined: it has not said yet what runs there. */
  readonly observed: ObservedState | undefined;
  /** The newest revision of its desired state. */
  readonly desiredRevision: number;
}

export type NodeReports = ReadonlyMap<NodeId, NodeReport>;

/** What the replica's node lets us know of it. Unknown is no evidence of anything. */
export type Sighting =
  | { readonly kind: "unknown" }
  /** An operator removed its node from the cluster, and with it everything on it. */
  | { readonly kind: "nodeRemoved" }
  /** Its node is given up. */
  | { readonly kind: "nodeLost" }
  /** The node acts on the newest desired state, and has no such replica. */
  | { readonly kind: "absent" }
  | { readonly kind: "present"; readonly observed: ObservedReplica };

export const sightingOf = (replica: Replica, reports: NodeReports): Sighting =>
  replica.placement === undefined ? { kind: "unknown" } : sightingAt(replica, replica.placement.node, reports);

/** What one of its nodes lets us know of it. */
export function sightingAt(replica: Pick<Replica, "id" | "specHash">, node: NodeId, reports: NodeReports): Sighting {
  const report = reports.get(node);
  if (report === undefined) return { kind: "nodeRemoved" };
  if (report.liveness === "lost") return { kind: "nodeLost" };
  if (report.liveness !== "connected" || report.observed === undefined) return { kind: "unknown" };
  const { observed, desiredRevision } = report;
  const found = observed.replicas.find(({ id }) => id === replica.id);
  if (found === undefined) return { kind: observed.revision >= desiredRevision ? "absent" : "unknown" };
  return found.specHash === replica.specHash ? { kind: "present", observed: found } : { kind: "unknown" };
}

/** The state that follows from what its node says of it, and from nothing else. */
export function followedState(replica: Replica, sighting: Sighting): ReplicaState {
  const { state } = replica;
  switch (sighting.kind) {
    case "unknown":
      return state;
    case "nodeRemoved":
      return { kind: "stopped" };
    case "nodeLost":
      return isOver(state) ? state : { kind: "lost", reason: `its node ${replica.placement?.node ?? ""} is lost` };
    case "absent":
      return whenAbsent(state);
    case "present":
      return whenPresent(state, sighting.observed);
    default:
      return assertNever(sighting);
  }
}

const isOver = (state: ReplicaState): boolean => state.kind === "stopped" || state.kind === "lost";

type Listening = "follows" | "isLeaving" | "isDeaf";

export const listeningOf = ({ kind }: ReplicaState): Listening => LISTENING[kind];

/** What each state makes of its node's word. */
const LISTENING: Readonly<Record<ReplicaKind, Listening>> = {
  pending: "isDeaf",
  placed: "follows",
  preparing: "follows",
  starting: "follows",
  ready: "follows",
  failed: "follows",
  draining: "isLeaving",
  stopping: "isLeaving",
  lost: "isLeaving",
  stopped: "isDeaf",
};

function whenAbsent(state: ReplicaState): ReplicaState {
  switch (LISTENING[state.kind]) {
    case "follows":
      // It is wanted there, so the node begins again.
      return { kind: "placed" };
    case "isLeaving":
      return { kind: "stopped" };
    case "isDeaf":
      return state;
  }
}

function whenPresent(state: ReplicaState, { state: seen }: ObservedReplica): ReplicaState {
  if (LISTENING[state.kind] === "follows") return reportedState(seen);
  if (state.kind === "stopping") return leavingState(state, seen);
  // Its node is back and has ended it: nothing is left that could be lost.
  if (state.kind === "lost" && seen.kind === "stopped") return { kind: "stopped" };
  const hasEnded = seen.kind === "failed" || seen.kind === "stopping" || seen.kind === "stopped";
  // An engine that has ended has nothing left to finish.
  return state.kind === "draining" && hasEnded ? { kind: "stopping", why: state.why } : state;
}

function leavingState(
  state: Extract<ReplicaState, { kind: "stopping" }>,
  seen: ObservedReplica["state"],
): ReplicaState {
  if (seen.kind === "stopped") return { kind: "stopped" };
  return seen.kind === "stopping" ? stoppingWith(state.why, seen.note) : state;
}

/** On its way out, with what its node says that its end waits for. */
export const stoppingWith = (why: string, note: string | undefined): ReplicaState => ({
  kind: "stopping",
  why,
  ...(note === undefined ? {} : { note }),
});

/** What a wanted replica is when its node says this of it. */
export function reportedState(seen: ObservedReplica["state"]): ReplicaState {
  switch (seen.kind) {
    case "preparing":
    case "starting":
    case "failed":
      return seen;
    case "ready":
      return { kind: "ready", endpoint: seen.endpoint, slots: seen.slots, engine: seen.engine };
    case "stopping":
      return { kind: "starting", note: "its node is stopping the old process first" };
    case "stopped":
      return { kind: "placed" };
    default:
      return assertNever(seen);
  }
}
