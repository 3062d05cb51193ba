import type { ReplicaId } from "../core/ids.ts";
import { baseCount, type Profile, specHash } from "../core/profile.ts";
import { type Replica, type ReplicaKind, REPLICA_TRAITS } from "../core/replica-state.ts";

/** Why another replica is to take a replica's place. */
export interface Outgoing {
  readonly why: string;
  /** It goes now, whatever that leaves. */
  readonly isForced: boolean;
}

export interface RolloutView {
  readonly profile: Profile;
  /** The profile's, in any state. */
  readonly replicas: readonly Replica[];
  /** For reasons beside a changed profile. Undefined: it may stay. */
  readonly outgoing: (replica: Replica) => Outgoing | undefined;
  /** Where a new replica that fits nowhere now would have a place once this one was gone. */
  readonly makesRoom: ReadonlySet<ReplicaId>;
  /** Why there are no more than `profile.replicas`. Undefined: the profile says so itself. */
  readonly surplus?: string | undefined;
}

/** What a profile's replicas need next. */
export interface RolloutStep {
  /** Replicas of the present spec to make. */
  readonly create: number;
  readonly drain: readonly { readonly replica: Replica; readonly why: string }[];
  /** The one of `drain` that goes before its successor has a place, because nothing else makes room. */
  readonly swap: Swap | undefined;
}

export interface Swap {
  readonly replica: Replica;
  /** The new one that waits for its place. */
  readonly waiting: Replica;
  /** How many are ready of how many that are asked for, once it has gone. */
  readonly ready: number;
  readonly count: number;
}

/** The less a replica gives, the sooner it goes. */
const WORTH: readonly ReplicaKind[] = ["pending", "failed", "placed", "preparing", "starting", "ready"];

/**
 * Towards `count` replicas of the present spec: new ones first, as far as `surge` allows; those that are to be replaced go
 * once they give nothing or as many as promised are ready without them. Where not one new replica fits beside the old ones,
 * they are swapped one after another: at least `count` − max(`unavailable`, 1) stay ready.
 */
export function rolloutStep(view: RolloutView): RolloutStep {
  const { profile, replicas } = view;
  const count = baseCount(profile.replicas);
  const { unavailable } = profile.rollout;
  // Without any of the two nothing could ever change.
  const surge = unavailable === 0 ? Math.max(1, profile.rollout.surge) : profile.rollout.surge;
  const counting = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  const hash = specHash(profile);
  const judged = counting.map((replica) => ({ replica, outgoing: outgoingOf(replica, hash, view.outgoing) }));
  const fresh = judged.flatMap(({ replica, outgoing }) => (outgoing === undefined ? [replica] : []));
  const old = judged.flatMap(({ replica, outgoing }) => (outgoing === undefined ? [] : [{ replica, ...outgoing }]));

  const atOnce = old.filter(({ replica, isForced }) => isForced || !isReady(replica));
  const readyOld = old.filter((one) => !atOnce.includes(one)).toSorted((a, b) => leastWorthFirst(a.replica, b.replica));
  const ready = fresh.filter(isReady).length + readyOld.length;
  const spare = Math.max(0, ready - Math.max(0, count - unavailable));
  const inTurn = readyOld.slice(0, spare);
  const surplus = fresh.toSorted(leastWorthFirst).slice(0, Math.max(0, fresh.length - count));
  const swap = inTurn.length > 0 ? undefined : swapOf({ view, fresh, readyOld, ready });
  return {
    create: Math.max(0, Math.min(count - fresh.length, count + surge - counting.length)),
    drain: [
      ...[...atOnce, ...inTurn].map(({ replica, why }) => ({ replica, why })),
      ...readyOld.filter(({ replica }) => replica === swap?.replica).map(({ replica, why }) => ({ replica, why })),
      ...surplus.map((replica) => ({ replica, why: view.surplus ?? `the profile asks for ${String(count)} now` })),
    ],
    swap,
  };
}

interface Standing {
  readonly view: RolloutView;
  readonly fresh: readonly Replica[];
  /** The least worth first. */
  readonly readyOld: readonly { readonly replica: Replica }[];
  readonly ready: number;
}

/** One at a time: while another is on its way out its room may be enough. */
function swapOf({ view, fresh, readyOld, ready }: Standing): Swap | undefined {
  const { profile, replicas, makesRoom } = view;
  const count = baseCount(profile.replicas);
  const waiting = fresh.find(({ state }) => state.kind === "pending" && state.rejections.length > 0);
  if (waiting === undefined || replicas.some(({ state }) => isOnItsWay(state.kind))) return undefined;
  if (ready <= Math.max(0, count - Math.max(1, profile.rollout.unavailable))) return undefined;
  const candidate = readyOld.find(({ replica }) => makesRoom.has(replica.id));
  return candidate === undefined ? undefined : { replica: candidate.replica, waiting, ready: ready - 1, count };
}

const isOnItsWay = (kind: ReplicaKind): boolean => kind === "draining" || kind === "stopping";

function outgoingOf(replica: Replica, hash: string, outgoing: RolloutView["outgoing"]): Outgoing | undefined {
  const other = outgoing(replica);
  if (replica.specHash === hash) return other;
  return { why: "replaced by the changed profile", isForced: other?.isForced ?? false };
}

const isReady = ({ state }: Replica): boolean => state.kind === "ready";

/** Of two that are worth the same the younger goes, and of two of one age the greater id. */
function leastWorthFirst(a: Replica, b: Replica): number {
  return (
    WORTH.indexOf(a.state.kind) - WORTH.indexOf(b.state.kind) || b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)
  );
}
