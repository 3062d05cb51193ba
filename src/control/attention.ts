import { nodeState } from "../core/node.ts";
import { withoutKey } from "../core/redact.ts";
import type { Replica } from "../core/replica-state.ts";
import type { LivenessVerdict } from "../reconcile/liveness.ts";
import type { Snapshot, StoredNode } from "../store/store.ts";
import { replicaReason } from "../wire/replica-reason.ts";
import { replicasOn } from "./drain-node.ts";

type Silence = Pick<LivenessVerdict, "braked" | "silent" | "watched">;
type Concern = (snapshot: Snapshot, silence: Silence) => readonly string[];

/** What stands first wherever the state of nodes and replicas is shown; "" while there is nothing to say. */
export const brakeNotice = ({ braked, silent, watched }: Silence): string =>
  braked.length === 0
    ? ""
    : `${String(silent)} of ${String(watched)} nodes are silent at once: the fault is probably in the network or in ` +
      "this server, so nothing is moved. Their engines go on serving as far as routers reach them";

/** In the order of urgency. */
const CONCERNS: readonly Concern[] = [
  (_, silence) => [brakeNotice(silence)].filter((notice) => notice !== ""),
  ({ nodes, profiles }) =>
    nodes.length === 0 && profiles.length > 0 ? ["no node has joined: start `llmgw agent` on one"] : [],
  ({ replicas }) =>
    replicas.flatMap(({ id, state, apiKey }) =>
      state.kind === "failed" ? [`replica ${id} failed: ${withoutKey(state.reason, apiKey)}`] : [],
    ),
  ({ nodes }) =>
    nodes
      .filter(({ liveness }) => liveness === "lost")
      .map(({ id }) => `node ${id} is lost: its replicas are given up`),
  ({ nodes }) =>
    nodes
      .filter(({ liveness }) => liveness === "unreachable")
      .map(({ id }) => `node ${id} is unreachable: its agent is silent, its engines go on serving`),
  ({ nodes, replicas }) => nodes.flatMap((node) => drainConcern(node, replicas)),
  ({ replicas, nodes }) =>
    replicas
      .filter(({ state }) => state.kind === "pending" && nodes.length > 0)
      .map(({ id, state }) => `replica ${id} is pending: ${replicaReason(state, 0)}`),
  ({ nodes }) =>
    nodes
      .filter((node) => nodeState(node) === "degraded")
      .flatMap(({ id, inventory }) => inventory.problems.map((problem) => `node ${id}: ${problem}`)),
];

/** Of a node that cannot be emptied for want of room elsewhere. */
function drainConcern({ id, drain }: StoredNode, replicas: readonly Replica[]): readonly string[] {
  if (drain === undefined) return [];
  const until = new Date(drain.deadline).toISOString();
  return replicasOn(replicas, id).flatMap((replica) => {
    const waiting = replicas.find(({ profile, state }) => profile === replica.profile && state.kind === "pending");
    if (waiting === undefined || replica.state.kind !== "ready") return [];
    const why = replicaReason(waiting.state, 0);
    return [`node ${id} is being drained, but ${replica.id} waits for room elsewhere until ${until}: ${why}`];
  });
}

/** What an operator should look at, the most urgent first. Empty when all is well. */
export const attention = (snapshot: Snapshot, silence: Silence): readonly string[] =>
  CONCERNS.flatMap((concern) => concern(snapshot, silence));
