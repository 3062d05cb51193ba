import { baseCount, type Profile, specHash } from "../core/profile.ts";
import { type Replica, type ReplicaKind, REPLICA_TRAITS } from "../core/replica-state.ts";

/** What a profile's replicas need next. */
export interface RolloutStep {
  /** Replicas of the present spec to make. */
  readonly create: number;
  readonly drain: readonly { readonly replica: Replica; readonly why: string }[];
}

/** The less a replica gives, the sooner it goes. */
const WORTH: readonly ReplicaKind[] = ["pending", "failed", "placed", "preparing", "starting", "ready"];

/**
 * Towards `count` replicas of the present spec: new ones first, as far as `surge` allows; old ones go once they give nothing
 * or as many as promised are ready without them. `replicas` are the profile's, in any state.
 */
export function rolloutStep(profile: Profile, replicas: readonly Replica[]): RolloutStep {
  const count = baseCount(profile.replicas);
  const hash = specHash(profile);
  const { unavailable } = profile.rollout;
  // Without any of the two nothing could ever change.
  const surge = unavailable === 0 ? Math.max(1, profile.rollout.surge) : profile.rollout.surge;
  const counting = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  const fresh = counting.filter((replica) => replica.specHash === hash);
  const old = counting.filter((replica) => replica.specHash !== hash);
  const create = Math.max(0, Math.min(count - fresh.length, count + surge - counting.length));

  const readyOld = old.filter(isReady);
  const spare = Math.max(0, fresh.filter(isReady).length + readyOld.length - Math.max(0, count - unavailable));
  const surplus = fresh.toSorted(leastWorthFirst).slice(0, Math.max(0, fresh.length - count));
  return {
    create,
    drain: [
      ...old.filter((replica) => !isReady(replica)).map(because("replaced by the changed profile")),
      ...readyOld.toSorted(leastWorthFirst).slice(0, spare).map(because("replaced by the changed profile")),
      ...surplus.map(because(`the profile asks for ${String(count)} now`)),
    ],
  };
}

const isReady = ({ state }: Replica): boolean => state.kind === "ready";

const because = (why: string) => (replica: Replica) => ({ replica, why });

/** Of two that are worth the same the younger goes, and of two of one age the greater id. */
function leastWorthFirst(a: Replica, b: Replica): number {
  return (
    WORTH.indexOf(a.state.kind) - WORTH.indexOf(b.state.kind) || b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)
  );
}
