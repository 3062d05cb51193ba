import type { DesiredState } from "../core/desired.ts";
import { replicasByNode } from "../core/replicas-by-node.ts";
import { desiredReplicas } from "../reconcile/desired.ts";
import type { Snapshot, StoredNode } from "../store/store.ts";
import { specKey, specsByKey } from "./changes.ts";
import type { ControlPolicy } from "./policy.ts";

/** What a node is to be told. What that takes is the same for all of them, and looked up when the first one is asked for. */
export function desiredStates(snapshot: Snapshot, policy: ControlPolicy): (node: StoredNode) => DesiredState {
  const gather = () => ({ specs: specsByKey(snapshot), byNode: replicasByNode(snapshot.replicas) });
  let gathered: ReturnType<typeof gather> | undefined;
  return ({ id, desiredRevision }) => {
    const { specs, byNode } = (gathered ??= gather());
    return {
      revision: desiredRevision,
      replicas: desiredReplicas(id, byNode.get(id) ?? [], (replica) => specs.get(specKey(replica))),
      engines: policy.engines,
      weightsConcurrency: policy.weightsConcurrency,
    };
  };
}
