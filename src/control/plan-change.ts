import type { NodeId } from "../core/ids.ts";
import type { LookedModel } from "../core/model-facts.ts";
import { type Profile, specHash } from "../core/profile.ts";
import { nodesOf, type Replica, sharesOf } from "../core/replica-state.ts";
import { ok, type Result } from "../core/result.ts";
import { aliasManifest } from "../config/alias.ts";
import { profileManifest } from "../config/profile.ts";
import type { Snapshot } from "../store/store.ts";
import { upstreamManifest } from "../config/upstream.ts";
import { type AppliedObject, applyObjects } from "./apply-objects.ts";
import type { Gathered } from "./decide.ts";
import { type Forecast, forecast } from "./forecast.ts";
import { needsOf } from "./model-needs.ts";
import { type NamedObjects, namedIn } from "./named-objects.ts";
import { wantedOf } from "./scaling.ts";
import { upstreamWarnings } from "./upstreams/change.ts";

interface FieldChange {
  readonly path: string;
  /** JSON; "" when it is not there. */
  readonly before: string;
  readonly after: string;
}

interface PlannedPlace {
  readonly node: string;
  readonly gpus: readonly string[];
  readonly fetches: boolean;
  /** 0: nobody knows. */
  readonly fetchBytes: number;
  readonly reason: string;
}

/** A profile; or an alias or an upstream, which move nothing. */
export interface PlannedObject extends AppliedObject {
  readonly fields: readonly FieldChange[];
  readonly places: readonly PlannedPlace[];
  readonly removed: number;
  readonly restarted: number;
  readonly leastReady: number;
  readonly ready: number;
  readonly sentences: readonly string[];
}

interface PlanWish extends NamedObjects {
  /** What the sources of their models have said. */
  readonly looked: readonly LookedModel[];
  readonly gathered: Gathered;
}

/** What applying the objects would do to everything as it is now, or why they would be refused. */
export function planObjects(
  before: Snapshot,
  { looked, gathered, ...wanted }: PlanWish,
): Result<readonly PlannedObject[], readonly string[]> {
  const applied = applyObjects(before, { ...wanted, looked, now: gathered.now });
  if (!applied.ok) return applied;
  const { snapshot, answer } = applied.value;
  const changed = answer.some(({ outcome }) => outcome !== "unchanged");
  const seen = changed ? forecast(snapshot, gathered) : NOTHING;
  return ok(
    answer.flatMap((one) => {
      if (one.kind !== "Profile") return [plannedName(one, before, wanted)];
      const profile = wanted.profiles.find(({ name }) => name === one.name);
      return profile === undefined ? [] : [planned(one, profile, { before, snapshot, seen })];
    }),
  );
}

const NOTHING: Forecast = { made: [], ended: [], leastReady: new Map(), events: [], demands: new Map() };

interface Seen {
  readonly before: Snapshot;
  readonly snapshot: Snapshot;
  readonly seen: Forecast;
}

/** What moves nothing. */
function plannedName(applied: AppliedObject, before: Snapshot, wanted: NamedObjects): PlannedObject {
  const [was, is] = [manifestOf(applied, namedIn(before)), manifestOf(applied, wanted)];
  const fields = was === undefined || is === undefined ? [] : fieldChanges(was, is);
  const upstream = applied.kind === "Upstream" ? wanted.upstreams.find(({ name }) => name === applied.name) : undefined;
  const sentences = upstream === undefined || applied.outcome === "unchanged" ? [] : upstreamWarnings(upstream);
  return { ...applied, fields, places: [], removed: 0, restarted: 0, leastReady: 0, ready: 0, sentences };
}

function manifestOf({ kind, name }: AppliedObject, { aliases, upstreams }: NamedObjects): string | undefined {
  if (kind === "Alias") {
    const alias = aliases.find((one) => one.name === name);
    return alias === undefined ? undefined : aliasManifest(alias);
  }
  const upstream = upstreams.find((one) => one.name === name);
  return upstream === undefined ? undefined : upstreamManifest(upstream);
}

function planned(applied: AppliedObject, profile: Profile, all: Seen): PlannedObject {
  const { before, seen } = all;
  const was = before.profiles.find((stored) => stored.profile.name === profile.name)?.profile;
  const fields = was === undefined ? [] : fieldChanges(profileManifest(was), profileManifest(profile));
  const ready = before.replicas.filter(
    ({ profile: of, state }) => of === profile.name && state.kind === "ready",
  ).length;
  if (applied.outcome === "unchanged") {
    return { ...applied, fields, places: [], removed: 0, restarted: 0, leastReady: ready, ready, sentences: [] };
  }
  const ended = seen.ended.filter((replica) => replica.profile === profile.name);
  const places = placesOf(profile, all);
  const hash = specHash(profile);
  const replaced = ended.filter((replica) => replica.specHash !== hash).length;
  const restarted = Math.min(replaced, places.filter(({ node }) => node !== "").length);
  const leastReady = seen.leastReady.get(profile.name) ?? 0;
  const count = wantedOf(profile, seen.demands);
  const standing = { count, ready, leastReady, restarted, removed: ended.length - restarted };
  return { ...applied, fields, places, ...standing, sentences: sentencesOf(standing, places) };
}

function placesOf(profile: Profile, { snapshot, seen }: Seen): readonly PlannedPlace[] {
  const needs = needsOf(snapshot)(profile)(profile.context);
  const fetching = new Set<string>();
  const isHeld = (id: NodeId): boolean => {
    const node = snapshot.nodes.find((one) => one.id === id);
    return node?.inventory.weights.some(({ source }) => source === profile.model.source) ?? false;
  };
  return seen.made
    .filter((replica) => replica.profile === profile.name)
    .map(({ placement, state }): PlannedPlace => {
      if (placement === undefined) return { node: "", gpus: [], fetches: false, fetchBytes: 0, reason: whyNot(state) };
      const shares = sharesOf(placement);
      const lacking = shares.filter(({ node }) => !isHeld(node) && !fetching.has(node)).length;
      // The second replica on a node finds what the first has fetched.
      for (const { node } of shares) fetching.add(node);
      const gpus = shares.flatMap((share) => share.gpus);
      const fetchBytes = lacking * (needs.weights ?? 0);
      return { node: nodesOf(placement), gpus, fetches: lacking > 0, fetchBytes, reason: "" };
    });
}

function whyNot(state: Replica["state"]): string {
  const rejections = state.kind === "pending" ? state.rejections : [];
  if (rejections.length === 0) return "no node has joined yet";
  return rejections.map(({ node, reason }) => `${node} ${reason}`).join("; ");
}

interface Standing {
  /** How many replicas it is to have. */
  readonly count: number;
  readonly ready: number;
  readonly leastReady: number;
  readonly restarted: number;
  readonly removed: number;
}

function sentencesOf(standing: Standing, places: readonly PlannedPlace[]): readonly string[] {
  const { count, ready, leastReady, restarted, removed } = standing;
  const homeless = places.filter(({ node }) => node === "").length;
  const kept = Math.min(ready, count);
  const way =
    leastReady >= kept
      ? `each new one is ready before an old one goes, so ${String(kept)} of ${String(count)} serve all the time`
      : `there is no room to start a new one first, so capacity goes down to ${String(leastReady)} of ${String(count)} on the way`;
  return [
    ...(restarted > 0 ? [`${replicasInWords(restarted)} replaced: ${way}`] : []),
    ...(removed > 0 ? [`${replicasInWords(removed)} drained and not replaced`] : []),
    ...(homeless > 0 ? [`${replicasInWords(homeless)} left without a place`] : []),
  ];
}

const replicasInWords = (n: number): string => (n === 1 ? "1 replica is" : `${String(n)} replicas are`);

/** Key by key of two manifests; maps are looked into, lists are not. */
const fieldChanges = (was: string, is: string): readonly FieldChange[] =>
  differences("", JSON.parse(was), JSON.parse(is));

function differences(path: string, was: unknown, is: unknown): readonly FieldChange[] {
  if (JSON.stringify(was) === JSON.stringify(is)) return [];
  if (!isMap(was) || !isMap(is)) return [{ path, before: jsonOf(was), after: jsonOf(is) }];
  const keys = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return keys.flatMap((key) => differences(path === "" ? key : `${path}.${key}`, was[key], is[key]));
}

const jsonOf = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value));

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
