import type { NewEvent } from "../core/event.ts";
import { fingerprint } from "../core/fingerprint.ts";
import { NEW_GANG } from "../core/gang.ts";
import type { Millis, NodeId, ProfileName, ReplicaId } from "../core/ids.ts";
import { type Profile, specHash } from "../core/profile.ts";
import { type Rejection, type Replica, sharesOf } from "../core/replica-state.ts";
import { replicasByNode } from "../core/replicas-by-node.ts";
import { sameValue } from "../core/same-value.ts";
import { type ClusterPlan, reconcileCluster } from "../reconcile/cluster.ts";
import { desiredReplicas } from "../reconcile/desired.ts";
import type { Routers } from "../reconcile/drain.ts";
import type { NodeReports } from "../reconcile/follow.ts";
import { assessLiveness, type LivenessVerdict, type NodeContact } from "../reconcile/liveness.ts";
import { type Ask, askOf } from "../scheduler/ask.ts";
import { nodeViews } from "../scheduler/node-view.ts";
import { placeAll } from "../scheduler/place.ts";
import { DEFAULT_POLICY } from "../scheduler/policies.ts";
import type { Snapshot, StoredNode } from "../store/store.ts";
import { specKey, specsByKey } from "./changes.ts";
import { withoutFinishedDrains } from "./drain-node.ts";
import { eventsBetween } from "./events.ts";
import { givenWay } from "./give-way.ts";
import type { NodeHeard } from "./heard.ts";
import { makesRoom } from "./makes-room.ts";
import { learned } from "./measured.ts";
import { fetchesOf, needsOf } from "./model-needs.ts";
import type { ControlPolicy } from "./policy.ts";
import { quietReport } from "./quiet-report.ts";
import { type Demands, nextDemands, scaledCounts, scalingEvents } from "./scaling.ts";
import { settleRollouts } from "./settle-rollouts.ts";

/** Everything that was found out, at one moment. */
export interface Gathered {
  /** Wall clock. */
  readonly now: Millis;
  /** The clock that never steps, and since when this server hears on it. */
  readonly monotonic: Millis;
  readonly awakeSince: Millis;
  readonly nodes: ReadonlyMap<NodeId, NodeHeard>;
  readonly routers: Routers;
  readonly policy: ControlPolicy;
  /** How many replicas profiles that follow their load were to have at the last turn. */
  readonly demands: Demands;
  /** The policy may be another than the one that the snapshot was made under. */
  readonly isFirst: boolean;
  /** Name and key for a new replica. */
  readonly mint: (profile: ProfileName) => { readonly id: ReplicaId; readonly apiKey: string };
}

export interface Decided {
  /** With the revision that it was decided on. */
  readonly snapshot: Snapshot;
  readonly events: readonly NewEvent[];
  readonly liveness: LivenessVerdict;
  readonly demands: Demands;
}

/** Snapshot and findings in, the next snapshot out. Nothing is done here. */
export function decide(before: Snapshot, gathered: Gathered): Decided {
  const heard = { ...before, nodes: hear(before.nodes, gathered) };
  const liveness = assessLiveness(
    heard.nodes.map((node) => contactOf(node, gathered)),
    {
      now: gathered.monotonic,
      awakeSince: gathered.awakeSince,
      policy: gathered.policy.liveness,
    },
  );
  const nodes = heard.nodes.map((node) => {
    const found = liveness.liveness.get(node.id) ?? node.liveness;
    if (found === node.liveness) return node;
    return { ...node, liveness: found, lastSeen: gathered.nodes.get(node.id)?.lastSeen ?? node.lastSeen };
  });
  const judged = { ...heard, nodes: sameList(before.nodes, nodes) };
  const demands = nextDemands(judged, gathered);
  const next = nextReplicas(judged, { ...gathered, demands });
  const given = givenWay(judged, place(judged, next.replicas, gathered), gathered.policy);
  const placed = { ...judged, replicas: sameList(before.replicas, given.replicas) };
  const emptied = { ...placed, nodes: sameList(placed.nodes, withoutFinishedDrains(placed)) };
  const known = { ...emptied, measurements: learned(before, emptied, gathered.now) };
  const settled = settleRollouts(known, { now: gathered.now, demands });
  const snapshot = forgetSpecs(withDesired(before, settled.snapshot, gathered));
  const scaling = scalingEvents(judged, gathered, demands);
  const events = [...scaling, ...next.events, ...eventsBetween(before, snapshot), ...given.events, ...settled.events];
  return { snapshot, events, liveness, demands };
}

/** Nodes that joined, and what the others now say of themselves. */
function hear(nodes: readonly StoredNode[], { nodes: heard, now }: Gathered): readonly StoredNode[] {
  const known = nodes.map((node) => {
    const said = heard.get(node.id);
    if (said === undefined || said.inventory === node.inventory) return node;
    return { ...node, inventory: said.inventory, lastSeen: said.lastSeen };
  });
  const ids = new Set(nodes.map(({ id }) => id));
  const joined = [...heard.values()]
    .filter(({ id, hasStream }) => hasStream && !ids.has(id))
    .map(({ id, inventory, lastSeen }): StoredNode => ({
      id,
      inventory,
      liveness: "connected",
      cordoned: false,
      joinedAt: now,
      lastSeen,
      desiredRevision: 0,
      desiredHash: "",
    }));
  return joined.length === 0 ? known : [...known, ...joined].toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

function contactOf({ id, liveness }: StoredNode, { nodes }: Gathered): NodeContact {
  const heard = nodes.get(id);
  return {
    id,
    before: liveness,
    hasStream: heard?.hasStream ?? false,
    left: heard?.goodbye !== undefined,
    lastHeard: heard?.lastHeard,
  };
}

function nextReplicas(snapshot: Snapshot, gathered: Gathered): Pick<ClusterPlan, "replicas" | "events"> {
  const { profiles, replicas, nodes, specs } = snapshot;
  const specOf = specsByKey(snapshot);
  const keys = new Map(replicas.map(({ id, apiKey }) => [id, apiKey]));
  const known = {
    keyOf: (id: ReplicaId) => keys.get(id),
    specOf: (of: Pick<Replica, "profile" | "specHash">) => specOf.get(specKey(of)),
  };
  const reports: NodeReports = new Map(
    nodes.map(({ id, liveness, desiredRevision }) => {
      const said = gathered.nodes.get(id)?.observed;
      return [id, { liveness, desiredRevision, observed: said === undefined ? undefined : quietReport(said, known) }];
    }),
  );
  const plan = reconcileCluster({
    profiles: profiles.map(({ profile }) => profile),
    replicas,
    nodes: reports,
    routers: gathered.routers,
    drainOf: new Map(specs.map(({ profile, spec }) => [profile, spec.rollout.drain])),
    emptying: new Map(nodes.flatMap(({ id, drain }) => (drain === undefined ? [] : [[id, drain.deadline]]))),
    makesRoom: makesRoom(snapshot, gathered.policy),
    scaled: scaledCounts(snapshot, gathered.demands),
    now: gathered.now,
  });
  const { events } = plan;
  return { replicas: [...plan.replicas, ...plan.create.flatMap((wanted) => created(wanted, gathered))], events };
}

const created = (
  { profile, specHash: hash, count }: ClusterPlan["create"][number],
  { mint, now }: Gathered,
): readonly Replica[] =>
  Array.from({ length: count }, () => ({
    ...mint(profile),
    profile,
    specHash: hash,
    state: { kind: "pending", rejections: [] },
    placement: undefined,
    restarts: 0,
    pid: undefined,
    generation: 0,
    createdAt: now,
    since: now,
  }));

function place(snapshot: Snapshot, replicas: readonly Replica[], { policy, now }: Gathered): readonly Replica[] {
  const waiting = replicas.filter(({ state }) => state.kind === "pending");
  if (waiting.length === 0) return replicas;
  const specs = specsByKey(snapshot);
  const needs = needsOf(snapshot);
  const asks = new Map<Profile, Ask>();
  const askFor = (spec: Profile): Ask => {
    const ask = asks.get(spec) ?? askOf(spec, needs(spec), policy);
    asks.set(spec, ask);
    return ask;
  };
  const pending = waiting
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
    .flatMap((replica) => {
      const spec = specs.get(specKey(replica));
      return spec === undefined ? [] : [{ id: replica.id, ask: askFor(spec) }];
    });
  const decisions = placeAll(pending, nodeViews(snapshot.nodes, replicas, fetchesOf(snapshot)), DEFAULT_POLICY);
  return replicas.map((replica) => {
    const decision = decisions.get(replica.id);
    if (decision === undefined) return replica;
    if (decision.kind === "unplaceable") {
      return stillPending(replica, decision.rejections);
    }
    const gang = decision.placement.gang === undefined ? {} : { gang: NEW_GANG };
    return { ...replica, state: { kind: "placed" }, placement: decision.placement, since: now, ...gang };
  });
}

/** The same object when nobody's reason is another one. */
function stillPending(replica: Replica, rejections: readonly Rejection[]): Replica {
  if (replica.state.kind === "pending" && sameValue(replica.state.rejections, rejections)) return replica;
  return { ...replica, state: { kind: "pending", rejections } };
}

/** Each node's desired state gets a new revision when its content is another. */
function withDesired(before: Snapshot, snapshot: Snapshot, { policy, isFirst }: Gathered): Snapshot {
  const isTouched = touchedNodes(before, snapshot);
  const specs = specsByKey(snapshot);
  const byNode = replicasByNode(snapshot.replicas);
  const nodes = snapshot.nodes.map((node) => {
    if (!isFirst && node.desiredHash !== "" && !isTouched.has(node.id)) return node;
    const replicas = desiredReplicas(node.id, byNode.get(node.id) ?? [], (replica) => specs.get(specKey(replica)));
    const hash = fingerprint({ replicas, engines: policy.engines, concurrency: policy.weightsConcurrency });
    return hash === node.desiredHash ? node : { ...node, desiredHash: hash, desiredRevision: node.desiredRevision + 1 };
  });
  return { ...snapshot, nodes: sameList(snapshot.nodes, nodes) };
}

/** Nodes with a replica that is not the same object as before, or not made of the same. */
function touchedNodes(before: Snapshot, after: Snapshot): ReadonlySet<NodeId> {
  if (before.replicas === after.replicas && before.specs === after.specs) return new Set();
  const untouched = new Set(before.replicas).intersection(new Set(after.replicas));
  const changed = changedSpecs(before, after);
  const isTouched = (replica: Replica): boolean => !untouched.has(replica) || changed.has(specKey(replica));
  const touched = [...before.replicas, ...after.replicas].filter(isTouched);
  return new Set(touched.flatMap(({ placement }) => sharesOf(placement).map(({ node }) => node)));
}

/** Their keys: what is gone, what is new, and what says something else now. */
function changedSpecs(before: Snapshot, after: Snapshot): ReadonlySet<string> {
  const [was, is] = [specsByKey(before), specsByKey(after)];
  return new Set([...was.keys(), ...is.keys()].filter((key) => was.get(key) !== is.get(key)));
}

/** What no replica is made of and no profile asks for any more. */
function forgetSpecs(snapshot: Snapshot): Snapshot {
  const needed = new Set([
    ...snapshot.replicas.map(specKey),
    ...snapshot.profiles.map(({ profile }) => specKey({ profile: profile.name, specHash: specHash(profile) })),
  ]);
  const specs = snapshot.specs.filter((stored) => needed.has(specKey(stored)));
  return { ...snapshot, specs: sameList(snapshot.specs, specs) };
}

/** The old list when nothing in it differs: whoever compares lists sees at once that nothing happened. */
function sameList<T>(before: readonly T[], after: readonly T[]): readonly T[] {
  return before.length === after.length && before.every((item, index) => item === after[index]) ? before : after;
}
