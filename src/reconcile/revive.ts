import { type Millis, plus } from "../core/ids.ts";
import type { ObservedReplicaState } from "../core/observed.ts";
import { baseCount, type Profile, specHash } from "../core/profile.ts";
import { type Replica, type ReplicaState, REPLICA_TRAITS } from "../core/replica-state.ts";
import { type NodeReports, reportedState, sightingOf } from "./follow.ts";

export interface ReviveView {
  readonly nodes: NodeReports;
  /** Whether another is to take its place for a reason beside a changed profile. */
  readonly isOutgoing: (replica: Replica) => boolean;
}

/**
 * The states of those that are on their way out or lost and that run all the same, where there are fewer than the profile asks
 * for: what runs is worth more than what would have to be started.
 *
 * - lost: its node is back, and no other serves in its place yet, or none has even a place;
 * - draining: it was one too many, and is not any more.
 */
export function revived(
  profile: Profile,
  replicas: readonly Replica[],
  view: ReviveView,
): ReadonlyMap<Replica, ReplicaState> {
  const leaving = replicas.filter(({ state }) => state.kind === "draining" || state.kind === "lost");
  if (leaving.length === 0) return new Map();
  const hash = specHash(profile);
  const own = replicas.filter((replica) => replica.specHash === hash && REPLICA_TRAITS[replica.state.kind].counts);
  const ready = own.filter(({ state }) => state.kind === "ready").length;
  const placed = own.filter(({ placement }) => placement !== undefined).length;
  const count = baseCount(profile.replicas);
  const states = new Map<Replica, ReplicaState>();
  for (const replica of leaving) {
    const seen = replica.specHash === hash && !view.isOutgoing(replica) ? runningAs(replica, view.nodes) : undefined;
    if (seen === undefined || !mayGoOn(replica, seen)) continue;
    // A start that is under way keeps a drain going, since it was one too many when that began; a lost one never was.
    const there = replica.state.kind === "lost" && seen.kind === "ready" ? ready : placed;
    if (there + states.size < count) states.set(replica, reportedState(seen));
  }
  return states;
}

/** One that drains and has to begin again is worth no more than a new one. */
const mayGoOn = ({ state }: Replica, seen: Seen): boolean => state.kind === "lost" || seen.kind === "ready";

type Seen = Extract<ObservedReplicaState, { readonly kind: "ready" | "starting" | "preparing" }>;

/** What its node says of it, unless it has ended; undefined: it has, or nobody knows. */
function runningAs(replica: Replica, nodes: NodeReports): Seen | undefined {
  // Of a gang the ranks that came back are told to stop: it serves with all of them or not at all.
  if (replica.placement?.gang !== undefined) return undefined;
  const sighting = sightingOf(replica, nodes);
  if (sighting.kind !== "present") return undefined;
  const { state } = sighting.observed;
  return state.kind === "ready" || state.kind === "starting" || state.kind === "preparing" ? state : undefined;
}

/**
 * A lost replica whose node is back after another took its place: what routers still have in flight there is finished, as
 * with any other that goes. One that is not called ready may serve all the same: an agent that has just started does not know
 * yet. Undefined: it cannot serve, so that it is simply told to stop.
 */
export function returnedState(
  replica: Replica,
  nodes: NodeReports,
  { now, drain }: { readonly now: Millis; readonly drain: Millis },
): ReplicaState | undefined {
  const seen = replica.state.kind === "lost" ? runningAs(replica, nodes) : undefined;
  if (seen === undefined || seen.kind === "preparing") return undefined;
  const { endpoint, slots } = seen.kind === "ready" ? seen : { endpoint: undefined, slots: 0 };
  const why = "its node came back after another had taken its place";
  return { kind: "draining", endpoint, slots, deadline: plus(now, drain), why };
}
