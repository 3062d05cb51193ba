import type { NewEvent } from "../core/event.ts";
import type { Millis, ProfileName } from "../core/ids.ts";
import { baseCount, type Profile, withCount } from "../core/profile.ts";
import { type Replica, REPLICA_TRAITS } from "../core/replica-state.ts";
import type { RouterReport, Routers } from "../reconcile/drain.ts";
import { type Demand, type ReplicaRange, scaleByLoad } from "../reconcile/scale.ts";
import { scaleEvent, surplusWords } from "../reconcile/scale-words.ts";
import type { Snapshot } from "../store/store.ts";

/** Of each profile whose replicas follow its load. It is found out anew when a server starts, and stored nowhere. */
export type Demands = ReadonlyMap<ProfileName, Demand>;

interface Asking {
  readonly routers: Routers;
  /** What was decided last. */
  readonly demands: Demands;
  readonly monotonic: Millis;
}

/** How many replicas each profile with a range is to have now. */
export function nextDemands({ profiles, replicas }: Snapshot, { routers, demands, monotonic }: Asking): Demands {
  const ranges = rangesOf(profiles.map(({ profile }) => profile));
  if (ranges.length === 0) return NONE;
  const byProfile = Map.groupBy(replicas, ({ profile }) => profile);
  // A router that has just come back has not said yet what it has.
  const isKnown = routers.settled && routers.reports.every(({ tableRevision }) => tableRevision >= 0);
  return new Map(
    ranges.map(([name, range]) => {
      const own = byProfile.get(name) ?? [];
      const load = loadOf(name, own, routers.reports);
      return [name, scaleByLoad(range, demands.get(name), { load, isKnown, replicas: own, now: monotonic })];
    }),
  );
}

const NONE: Demands = new Map();

const rangesOf = (profiles: readonly Profile[]): readonly (readonly [ProfileName, ReplicaRange])[] =>
  profiles.flatMap(({ name, replicas }) => (replicas.kind === "range" ? [[name, replicas] as const] : []));

/**
 * In flight at the profile's replicas, and waiting for one. What one that drains still works on asks nothing of the others:
 * counted, it would bring back the very replica that goes.
 */
function loadOf(name: ProfileName, replicas: readonly Replica[], reports: readonly RouterReport[]): number {
  const counting = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  return reports.reduce((sum, { inFlight, waiting }) => {
    const working = counting.reduce((all, { id }) => all + (inFlight.get(id) ?? 0), 0);
    return sum + working + (waiting.get(name) ?? 0);
  }, 0);
}

/** What has to be told of the step from the last decision to `after`. */
export function scalingEvents(
  { profiles }: Snapshot,
  { demands: before, monotonic }: Asking,
  after: Demands,
): readonly NewEvent[] {
  return rangesOf(profiles.map(({ profile }) => profile)).flatMap(([name, range]) => {
    const [was, is] = [before.get(name), after.get(name)];
    if (was === undefined || is === undefined || was.wanted === is.wanted) return [];
    return [scaleEvent(name, { range, before: was, after: is }, monotonic)];
  });
}

/** For the reconciler: the numbers, and the words for whoever asks a replica that goes why. */
export const scaledCounts = (
  { profiles }: Snapshot,
  demands: Demands,
): ReadonlyMap<ProfileName, { readonly wanted: number; readonly why: string }> =>
  new Map(
    rangesOf(profiles.map(({ profile }) => profile)).flatMap(([name, range]) => {
      const demand = demands.get(name);
      if (demand === undefined) return [];
      const { wanted } = demand;
      return [[name, { wanted, why: surplusWords(range, wanted) }] as const];
    }),
  );

/** How many replicas the profile is to have now. */
export const wantedOf = ({ name, replicas }: Profile, demands: Demands): number =>
  demands.get(name)?.wanted ?? baseCount(replicas);

/**
 * The profile with as many replicas as must be ready for its form to be proven: what its load asks for beyond that may well
 * find no room. Undefined: none is to be there, and whether one would start is seen when a request asks for it.
 */
export function toBeProven(profile: Profile, demands: Demands): Profile | undefined {
  const { replicas } = profile;
  if (replicas.kind === "fixed") return profile;
  const count = Math.min(wantedOf(profile, demands), Math.max(1, replicas.min));
  return count === 0 ? undefined : withCount(profile, count);
}
