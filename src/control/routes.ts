import { adaptersOf } from "../core/adapter.ts";
import type { StoredAlias } from "../core/alias.ts";
import { profileName, type ReplicaId } from "../core/ids.ts";
import { withoutKey } from "../core/redact.ts";
import { type Replica, REPLICA_TRAITS, type ReplicaState } from "../core/replica-state.ts";
import type { ModelRoute, ReplicaRoute, RouteTable } from "../core/route.ts";
import { sameValue } from "../core/same-value.ts";
import { engineRunning } from "../engines/list.ts";
import type { Snapshot, StoredProfile } from "../store/store.ts";
import { replicaReason } from "../wire/replica-reason.ts";
import type { Demand } from "../reconcile/scale.ts";
import { LoadedAdapters } from "./adapter-routes.ts";
import { modelOfEntry, type NamedObjects, namedIn } from "./named-objects.ts";
import type { Demands } from "./scaling.ts";

/** The nearer to serving, the later in this list: what is said of a model is said of its most hopeful replica. */
const HOPE: readonly ReplicaState["kind"][] = [
  "stopped",
  "stopping",
  "draining",
  "lost",
  "failed",
  "pending",
  "placed",
  "preparing",
  "starting",
  "ready",
];

/**
 * Where requests may go, by every name that is served. A model without a ready replica stays in it with what it waits for,
 * so that a client is told to wait and not that it is unknown. Replicas of an unreachable node stay too: their engines may
 * well answer, and routers find out.
 */
export function modelRoutes(snapshot: Snapshot, demands: Demands): readonly ModelRoute[] {
  const { profiles, aliases, replicas, nodes } = snapshot;
  const byProfile = Map.groupBy(replicas, ({ profile }) => profile);
  const loaded = new LoadedAdapters(snapshot);
  const served = profiles.flatMap((stored) => {
    const own = byProfile.get(stored.profile.name) ?? [];
    const standing = { replicas: own, nodes: nodes.length, demand: demands.get(stored.profile.name) };
    return [...routesOf(stored, standing, loaded), ...adapterRoutes(stored, standing, loaded)];
  });
  const named = namedIn(snapshot);
  return [...served, ...aliases.map((stored) => aliasRoute(stored, named))].toSorted((a, b) =>
    a.name < b.name ? -1 : 1,
  );
}

/** What is gone answers nobody, and the others have its share. */
function aliasRoute({ alias, createdAt }: StoredAlias, named: NamedObjects): ModelRoute {
  const modelsOf = (entry: string): readonly string[] => {
    const model = modelOfEntry(entry, named);
    return model.ok ? [model.value] : [];
  };
  return {
    name: alias.name,
    profile: profileName(""),
    replicas: [],
    created: Math.floor(createdAt / 1000),
    ...NOT_WAITING,
    alias: {
      targets: alias.targets.flatMap(({ profile, weight }) => modelsOf(profile).map((model) => ({ model, weight }))),
      fallback: alias.fallback.flatMap(modelsOf),
    },
  };
}

/** The same table when nothing in it differs, so that routers are not woken for nothing; else with the same models as far as they are. */
export function nextTable(before: RouteTable, models: readonly ModelRoute[], cluster: string): RouteTable {
  const was = new Map(before.models.map((model) => [model.name, model]));
  const next = models.map((model) => {
    const old = was.get(model.name);
    return old !== undefined && sameValue(old, model) ? old : model;
  });
  if (next.length === before.models.length && next.every((model, at) => model === before.models[at])) return before;
  return { revision: before.revision + 1, models: next, cluster };
}

/** For each draining replica the first revision without it, as far as there is one. */
export function goneSince(
  before: ReadonlyMap<ReplicaId, number>,
  replicas: readonly Replica[],
  table: RouteTable,
): ReadonlyMap<ReplicaId, number> {
  const draining = replicas.filter(({ state }) => state.kind === "draining");
  return new Map(draining.map(({ id }) => [id, before.get(id) ?? table.revision]));
}

interface Standing {
  /** The profile's. */
  readonly replicas: readonly Replica[];
  /** So many have joined. */
  readonly nodes: number;
  /** Of a profile that follows its load. */
  readonly demand: Demand | undefined;
}

function routesOf(stored: StoredProfile, standing: Standing, loaded: LoadedAdapters): readonly ModelRoute[] {
  const route = { ...routeTo(stored, standing), ...callsIn(loaded.calls(standing.replicas, undefined)) };
  return stored.profile.serves.map((name) => ({ ...route, name }));
}

/** Of a replica that was started before the profile had the adapter nobody gets it. */
function adapterRoutes(stored: StoredProfile, standing: Standing, loaded: LoadedAdapters): readonly ModelRoute[] {
  const { profile } = stored;
  return adaptersOf(profile).map(({ name }) => {
    const replicas = standing.replicas.filter((replica) => loaded.has(replica, name));
    const isToCome = replicas.length === 0 && standing.replicas.length > 0;
    return {
      ...routeTo(stored, { ...standing, replicas }),
      ...(isToCome ? { waitingFor: "no replica has been started with it yet", waitSeconds: 0 } : {}),
      name,
      parent: profile.serves[0] ?? profile.name,
      ...callsIn(loaded.calls(replicas, name)),
    };
  });
}

const callsIn = (calls: NonNullable<ModelRoute["calls"]>): Pick<ModelRoute, "calls"> =>
  Object.keys(calls).length === 0 ? {} : { calls };

function routeTo({ profile, createdAt }: StoredProfile, standing: Standing): Omit<ModelRoute, "name"> {
  const ready = standing.replicas.flatMap(readyRoute);
  const waiting = ready.length > 0 ? NOT_WAITING : waitingFor(standing);
  const holds = ready.length === 0 && isHolding(standing);
  return {
    profile: profile.name,
    replicas: ready,
    created: Math.floor(createdAt / 1000),
    ...waiting,
    ...(holds ? { holds } : {}),
  };
}

/** Whether a request has something to wait for. What its node has given up on is told at once. */
function isHolding({ replicas, nodes, demand }: Standing): boolean {
  if (demand === undefined || nodes === 0) return false;
  const counting = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  return counting.length === 0 || counting.some(({ state }) => state.kind !== "failed");
}

function readyRoute({ id, apiKey, state }: Replica): readonly ReplicaRoute[] {
  if (state.kind !== "ready") return [];
  const { endpoint, slots, engine } = state;
  const apis = engineRunning(engine)?.apis;
  return [{ id, ...endpoint, apiKey, slots, ...(apis === undefined ? {} : { apis }) }];
}

const NOT_WAITING = { waitingFor: "", waitSeconds: 0 } as const;

function waitingFor({ replicas, nodes, demand }: Standing): Pick<ModelRoute, "waitingFor" | "waitSeconds"> {
  if (nodes === 0) return { waitingFor: "no node has joined yet", waitSeconds: 0 };
  const hope = (replica: Replica): number => HOPE.indexOf(replica.state.kind);
  const [best] = replicas.toSorted((a, b) => hope(b) - hope(a) || (a.id < b.id ? -1 : 1));
  if (demand !== undefined && !replicas.some(({ state }) => REPLICA_TRAITS[state.kind].counts)) {
    return { waitingFor: "it is scaled to 0, and a request starts a replica", waitSeconds: 0 };
  }
  if (best === undefined) return { waitingFor: "the profile asks for no replicas", waitSeconds: 0 };
  // An engine's own words may hold its key.
  const reason = withoutKey(replicaReason(best.state, 0), best.apiKey);
  return { waitingFor: `${best.id} is ${best.state.kind}: ${reason}`, waitSeconds: secondsLeft(best.state) };
}

/** 0: nobody knows. */
function secondsLeft(state: ReplicaState): number {
  if (state.kind !== "preparing" || state.progress === undefined) return 0;
  const { bytesDone, bytesTotal, bytesPerSecond } = state.progress;
  return bytesPerSecond > 0 ? Math.ceil(Math.max(0, bytesTotal - bytesDone) / bytesPerSecond) : 0;
}
