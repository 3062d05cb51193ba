import type { NodeId } from "./ids.ts";
import { type Replica, sharesOf } from "./replica-state.ts";

/** Those that were given something of a node, in the order of the list: one pass for whoever asks for many nodes. */
export function replicasByNode(replicas: readonly Replica[]): ReadonlyMap<NodeId, readonly Replica[]> {
  const byNode = new Map<NodeId, Replica[]>();
  for (const replica of replicas) {
    for (const { node } of sharesOf(replica.placement)) {
      const there = byNode.get(node);
      if (there === undefined) byNode.set(node, [replica]);
      else there.push(replica);
    }
  }
  return byNode;
}
