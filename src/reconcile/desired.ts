import { adaptersOf } from "../core/adapter.ts";
import type { DesiredReplica } from "../core/desired.ts";
import { NEW_GANG } from "../core/gang.ts";
import type { NodeId } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import { type Replica, REPLICA_TRAITS, shareOn, sharesOf } from "../core/replica-state.ts";

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
    .filter(({ state, placement }) => shareOn(placement, node) !== undefined && REPLICA_TRAITS[state.kind].wantedOnNode)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .flatMap((replica) => {
      const spec = specOf(replica);
      return spec === undefined ? [] : [desiredReplica(replica, spec, node)];
    });
}

const desiredReplica = (replica: Replica, spec: Profile, node: NodeId): DesiredReplica => ({
  ...gpusOf(replica, node),
  id: replica.id,
  profile: replica.profile,
  specHash: replica.specHash,
  serves: spec.serves,
  engine: replica.placement?.gang?.engine ?? spec.engine,
  model: spec.model,
  context: spec.context,
  args: spec.args,
  env: spec.env,
  apiKey: replica.apiKey,
  startTimeout: spec.startTimeout,
  generation: replica.generation,
  parallel: spec.parallel,
  ...taskOf(replica, node),
  ...adaptersIn(spec),
});

function adaptersIn(spec: Profile): Pick<DesiredReplica, "adapters"> {
  const adapters = adaptersOf(spec);
  return adapters.length === 0 ? {} : { adapters };
}

function gpusOf({ placement }: Replica, node: NodeId): Pick<DesiredReplica, "gpus" | "gpuMemory"> {
  const share = shareOn(placement, node);
  if (share === undefined || share.gpus.length === 0) return { gpus: [] };
  return { gpus: share.gpus, gpuMemory: share.gpuMemory };
}

function taskOf({ placement, gang = NEW_GANG }: Replica, node: NodeId): Pick<DesiredReplica, "gang"> {
  if (placement?.gang === undefined) return {};
  const shares = sharesOf(placement);
  const rank = shares.findIndex((share) => share.node === node);
  const { attempt, order, members } = gang;
  return { gang: { rank, ranks: shares.length, fabric: placement.gang.fabric, attempt, order, members } };
}
