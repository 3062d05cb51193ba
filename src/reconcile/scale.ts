import { type Millis, millis } from "../core/ids.ts";
import type { ReplicaCount } from "../core/profile.ts";
import { type Replica, type ReplicaKind, REPLICA_TRAITS } from "../core/replica-state.ts";

export type ReplicaRange = Extract<ReplicaCount, { readonly kind: "range" }>;

/** What a profile's requests ask of its replicas now. */
export interface ScaleView {
  /** Requests in flight and waiting, at all routers. */
  readonly load: number;
  /** Every router has said what it has. What is not known is not nothing. */
  readonly isKnown: boolean;
  /** The profile's, in any state. */
  readonly replicas: readonly Replica[];
  /** On the clock that never steps. */
  readonly now: Millis;
}

/** So many replicas were needed, for the last time then. */
interface Peak {
  readonly count: number;
  readonly at: Millis;
}

/** How many replicas a profile is to have by its load, and what of the past that rests on. */
export interface Demand {
  readonly wanted: number;
  readonly load: number;
  /** None is ready: before one is, the load makes no further ones start. */
  readonly isFirst: boolean;
  /** When it was looked at for the first time. */
  readonly since: Millis;
  /** The oldest and highest first; those that a later and higher one outdates are left out. */
  readonly peaks: readonly Peak[];
}

const COMING: readonly ReplicaKind[] = ["placed", "preparing", "starting"];

/**
 * As many as were needed at any moment of the last `idle`: up at once, down by each replica that nobody has needed for so
 * long. So a load that swings changes nothing, and a step down always stands for a whole `idle` without need. A profile
 * that nothing is known of yet needs those that it has.
 */
export function scaleByLoad(range: ReplicaRange, before: Demand | undefined, view: ScaleView): Demand {
  const { load, now } = view;
  const counting = view.replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  const isFirst = !counting.some(({ state }) => state.kind === "ready");
  const asked = Math.ceil(load / range.targetInFlight);
  const unknown = before === undefined || !view.isKnown;
  const was = before?.wanted ?? counting.length;
  const needed = isFirst ? neededFirst(asked, was, counting) : asked;
  const count = Math.min(range.max, unknown ? Math.max(was, needed) : needed);
  const lasting = (before?.peaks ?? []).filter((peak) => peak.count > count && now - peak.at < range.idle);
  const peaks = [...lasting, { count, at: now }];
  const highest = Math.max(...peaks.map((peak) => peak.count));
  const wanted = Math.min(range.max, Math.max(range.min, highest));
  return { wanted, load, isFirst, since: before?.since ?? now, peaks };
}

/** While none is ready. */
function neededFirst(asked: number, was: number, counting: readonly Replica[]): number {
  // What somebody has asked for is to serve before it can be idle, however long its start takes.
  const coming = counting.some(({ state }) => COMING.includes(state.kind)) ? Math.min(1, was) : 0;
  // The start that a burst waits for serves all of it: whether that is enough is seen once it does.
  return Math.max(coming, Math.min(asked, Math.max(1, was)));
}

/** How long ago the present number was last needed. */
export function unneededFor({ peaks }: Demand, now: Millis): Millis {
  const [highest] = peaks;
  return millis(highest === undefined ? 0 : now - highest.at);
}
