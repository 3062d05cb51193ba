import type { NewEvent } from "../core/event.ts";
import { type Millis, millis, type NodeId, type ProfileName, type ReplicaId } from "../core/ids.ts";
import { type Profile, specHash, withCount } from "../core/profile.ts";
import { firstNo, type Replica, type ReplicaState, sharesOf } from "../core/replica-state.ts";
import { sameValue } from "../core/same-value.ts";
import { afterDraining, drainedState, mayServe, type Routers } from "./drain.ts";
import { followedState, type NodeReports, type Sighting, sightingOf } from "./follow.ts";
import { type Followed, followedGang } from "./gang.ts";
import { measuredReplica } from "./measured.ts";
import { returnedState, revived } from "./revive.ts";
import { type Outgoing, rolloutStep, type Swap } from "./rollout.ts";

/** Everything that the decision about replicas depends on. */
export interface ClusterView {
  /** What is wanted. */
  readonly profiles: readonly Profile[];
  readonly replicas: readonly Replica[];
  readonly nodes: NodeReports;
  readonly routers: Routers;
  /** How long replicas of a profile that is no longer wanted may finish, by its name. */
  readonly drainOf: ReadonlyMap<ProfileName, Millis>;
  /** Nodes that are to be emptied, and until when their replicas may wait for others to be ready elsewhere. */
  readonly emptying: ReadonlyMap<NodeId, Millis>;
  /** Where a new replica that fits nowhere now would have a place once this one was gone. */
  readonly makesRoom: ReadonlySet<ReplicaId>;
  /** How many replicas the profiles have that follow their load, and why, by their names. */
  readonly scaled: ReadonlyMap<ProfileName, Scaled>;
  readonly now: Millis;
}

interface Scaled {
  readonly wanted: number;
  readonly why: string;
}

export interface ClusterPlan {
  /** The replicas that stay, as they are now. Unchanged ones are the same objects. */
  readonly replicas: readonly Replica[];
  readonly remove: readonly ReplicaId[];
  /** To be made and placed, so many of each profile. */
  readonly create: readonly { readonly profile: ProfileName; readonly specHash: string; readonly count: number }[];
  /** What has to be said beyond each replica's change of state. */
  readonly events: readonly NewEvent[];
}

/** The default of `rollout.drain`, for a replica whose profile nobody remembers. */
const DRAIN = millis(300_000);

/**
 * What should become of the replicas now. One pass decides what follows from what is known; the next, with fresh reports,
 * the rest. It places nothing: new replicas begin as pending.
 */
export function reconcileCluster(view: ClusterView): ClusterPlan {
  const heard = view.replicas.map((replica) => afterReports(replica, view));
  const followed = heard.map(({ replica }) => replica);
  const byProfile = Map.groupBy(followed, ({ profile }) => profile);
  const create: ClusterPlan["create"][number][] = [];
  const replicas: Replica[] = [];
  const events = heard.flatMap((one) => one.events);
  for (const asApplied of view.profiles) {
    const scaled = view.scaled.get(asApplied.name);
    const profile = withCount(asApplied, scaled?.wanted);
    const own = returning(profile, byProfile.get(profile.name) ?? [], view);
    byProfile.delete(profile.name);
    const outgoing = (replica: Replica): Outgoing | undefined => outgoingOf(replica, view);
    const surplus = scaled?.why;
    const step = rolloutStep({ profile, replicas: own, outgoing, makesRoom: view.makesRoom, surplus });
    if (step.swap !== undefined) events.push(swapEvent(profile.name, step.swap));
    if (step.create > 0) create.push({ profile: profile.name, specHash: specHash(profile), count: step.create });
    const why = new Map(step.drain.map((drain) => [drain.replica.id, drain.why]));
    replicas.push(
      ...own.flatMap((replica) => leave(replica, why.get(replica.id), { drain: profile.rollout.drain, view })),
    );
  }
  for (const [name, orphans] of byProfile) {
    const drain = view.drainOf.get(name) ?? DRAIN;
    const left = orphans.map((replica) => {
      const state = returnedState(replica, view.nodes, { now: view.now, drain });
      return state === undefined ? replica : withState(replica, state, view.now);
    });
    replicas.push(...left.flatMap((replica) => leave(replica, "its profile was deleted", { drain, view })));
  }
  // A stopped one is shown for one pass, so that whoever waits for it sees it.
  const isOver = new Set(view.replicas.filter(({ state }) => state.kind === "stopped").map(({ id }) => id));
  const kept = replicas.filter(({ id }) => !isOver.has(id)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const keptIds = new Set(kept.map(({ id }) => id));
  return { replicas: kept, remove: view.replicas.map(({ id }) => id).filter((id) => !keptIds.has(id)), create, events };
}

/** Reasons beside a changed profile. */
function outgoingOf({ placement, replace }: Replica, { emptying, now }: ClusterView): Outgoing | undefined {
  const emptied = sharesOf(placement).flatMap(({ node }) => {
    const deadline = emptying.get(node);
    return deadline === undefined ? [] : [{ node, deadline }];
  });
  // Of a replica over several nodes that are drained, the node with the least time left decides.
  const [first] = emptied.toSorted((a, b) => a.deadline - b.deadline);
  if (first === undefined) return replace === undefined ? undefined : { why: replace, isForced: false };
  const isForced = now >= first.deadline;
  const late = isForced ? ", and the time to find room elsewhere was over" : "";
  return { why: `its node ${first.node} is being drained${late}`, isForced };
}

/** Said before it goes, not found out afterwards. */
function swapEvent(name: ProfileName, { replica, waiting, ready, count }: Swap): NewEvent {
  return {
    level: "warning",
    subjectKind: "profile",
    subject: name,
    reason: "CapacityReduced",
    message:
      `${name}: there is no room for one replica more${firstNo(waiting.state)}, so ${replica.id} is drained before the new one is ` +
      `placed; until that is ready, ${String(ready)} of ${String(count)} serve`,
  };
}

/** `why`: the reason for which it is to go; undefined: it stays. */
function leave(
  replica: Replica,
  why: string | undefined,
  { drain, view }: { readonly drain: Millis; readonly view: ClusterView },
): readonly Replica[] {
  if (why === undefined || mayServe(replica, view.routers, { now: view.now, drain })) return [replica];
  const state = drainedState(replica, { why, now: view.now, drain });
  return state === undefined ? [] : [withState(replica, state, view.now)];
}

/** Its node's word first, then what the routers say of a drain. */
function afterReports(replica: Replica, view: ClusterView): Followed {
  const { replica: followed, events } =
    replica.placement?.gang === undefined
      ? { replica: followedAlone(replica, view), events: [] }
      : followedGang(replica, view.nodes, view.now);
  const measured = measuredReplica(followed, view.nodes);
  return { replica: withState(measured, afterDraining(measured, view.routers, view.now), view.now), events };
}

function followedAlone(replica: Replica, view: ClusterView): Replica {
  const sighting = sightingOf(replica, view.nodes);
  const state = followedState(replica, sighting);
  return counted(withState(replica, state, view.now), sighting);
}

function counted(replica: Replica, sighting: Sighting): Replica {
  if (sighting.kind !== "present") return replica;
  const { restarts, pid } = sighting.observed;
  return restarts === replica.restarts && pid === replica.pid ? replica : { ...replica, restarts, pid };
}

/** Those that go on after all, and those that only finish what they have. */
function returning(profile: Profile, replicas: readonly Replica[], view: ClusterView): readonly Replica[] {
  const { nodes, now } = view;
  const isOutgoing = (replica: Replica): boolean => outgoingOf(replica, view) !== undefined;
  const back = revived(profile, replicas, { nodes, isOutgoing });
  return replicas.map((replica) => {
    const state = back.get(replica) ?? returnedState(replica, nodes, { now, drain: profile.rollout.drain });
    return state === undefined ? replica : withState(replica, state, now);
  });
}

/** The same object when nothing differs, so that nothing is written for a report that says nothing new. */
function withState(replica: Replica, state: ReplicaState, now: Millis): Replica {
  if (state === replica.state || sameValue(state, replica.state)) return replica;
  return { ...replica, state, since: state.kind === replica.state.kind ? replica.since : now };
}
