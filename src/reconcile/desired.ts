import type { DesiredReplica } from "../core/desired.ts";
import type { NodeId } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import { type Replica, REPLICA_TRAITS } from "../core/replica-state.ts";

/**
 * What a node should run, in the order of the ids. `specOf`: what a replica was made of; one that nobody remembers is left
 * out, and so is stopped by its node.
 */
export function desiredReplicas(
  node: NodeId,
  replicas: readonly Replica[],
  specOf: (replica: Replica) => Profile | undefined,
): readonly DesiredReplica[] {
  return replicas
    .filter(({ state, placement }) => placement?.node === node && REPLICA_TRAITS[state.kind].wantedOnNode)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((replica) => {
      const spec = specOf(replica);
      return spec === undefined ? [] : [desiredReplica(replica, spec)];
    });
}

const desiredReplica = (replica: Replica, spec: Profile): DesiredReplica => ({
  id: replica.id,
  profile: replica.profile,
  specHash: replica.specHash,
  serves: spec.serves,
  engine: spec.engine,
  model: spec.model,
  context: spec.context,
  args: spec.args,
  env: spec.env,
  gpus: replica.placement?.gpus ?? [],
  apiKey: replica.apiKey,
  startTimeout: spec.startTimeout,
  generation: replica.generation,
});
