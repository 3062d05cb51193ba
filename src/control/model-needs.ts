import { type AdapterSpec, adaptersOf } from "../core/adapter.ts";
import { bytes } from "../core/ids.ts";
import { launchKey, type Measurement } from "../core/measured-memory.ts";
import type { ModelNeeds } from "../core/memory-estimate.ts";
import type { LookedModel } from "../core/model-facts.ts";
import type { Profile } from "../core/profile.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import type { KnownModel } from "../engines/weights/needs.ts";
import type { NeedsAt } from "../scheduler/ask.ts";
import type { FetchOf } from "../scheduler/node-view.ts";
import type { Snapshot } from "../store/store.ts";
import { specKey, specsByKey } from "./changes.ts";

/** What is known of models: by the nodes, else by what their sources have said. Each is looked up once, however many ask. */
export function knownModels({ nodes, models }: Pick<Snapshot, "nodes" | "models">): (source: string) => KnownModel {
  const looked = new Map(models.map((model) => [model.source, model]));
  const known = new Map<string, KnownModel>();
  return (source) => {
    const model = known.get(source) ?? knownModel(source, nodes, looked.get(source));
    known.set(source, model);
    return model;
  };
}

/** What profiles' replicas take, by what is known of their models and by what was measured. */
export function needsOf(snapshot: Pick<Snapshot, "nodes" | "models" | "measurements">): (profile: Profile) => NeedsAt {
  const known = knownModels(snapshot);
  const bySource = Map.groupBy(snapshot.measurements, ({ source }) => source);
  return (profile) => {
    const needs = needsAt(profile, knownOf(profile, known));
    const ofModel = bySource.get(profile.model.source);
    return ofModel === undefined ? needs : (context) => ({ ...needs(context), ...alike(profile, context, ofModel) });
  };
}

/** What is known of the profile's model, with its adapters, which are loaded beside it. Those of unknown size count for nothing. */
export function knownOf(profile: Profile, known: (source: string) => KnownModel): KnownModel {
  const model = known(profile.model.source);
  const sizes: readonly number[] = adaptersOf(profile).map(({ source }) => known(source).weights ?? 0);
  if (model.weights === undefined || sizes.length === 0) return model;
  return { ...model, weights: bytes(sizes.reduce((sum, size) => sum + size, model.weights)) };
}

/** What the nodes of replicas may still have to fetch for them. */
export function fetchesOf(snapshot: Pick<Snapshot, "nodes" | "models" | "specs">): FetchOf {
  const known = knownModels(snapshot);
  const specs = specsByKey(snapshot);
  return (replica) => {
    const spec = specs.get(specKey(replica));
    const weights = spec === undefined ? undefined : knownOf(spec, known).weights;
    return spec === undefined || weights === undefined ? undefined : { source: spec.model.source, bytes: weights };
  };
}

/** What was measured when the model was started in the same way. */
function alike(
  profile: Profile,
  context: number | undefined,
  ofModel: readonly Measurement[],
): Pick<ModelNeeds, "measured"> {
  const key = launchKey({ ...profile, context });
  const measured = ofModel.filter(({ launch }) => launch === key);
  return measured.length === 0 ? {} : { measured };
}

/**
 * The profiles whose models nobody here knows well: no node holds them, and their sources have not said all yet. For each such
 * adapter there is one with it in the model's place.
 */
export function unknownTo({ nodes, models }: Snapshot, profiles: readonly Profile[]): readonly Profile[] {
  const held = new Set(nodes.flatMap(({ inventory }) => inventory.weights.map(({ source }) => source)));
  const told = new Set(models.filter(({ problem }) => problem === "").map(({ source }) => source));
  // Adapters last: not everything is asked about, and models weigh more.
  const all = [...profiles, ...profiles.flatMap((profile) => adaptersOf(profile).map(asModelOf(profile)))];
  const wanted = all.filter(({ model: { source } }) => !held.has(source) && !told.has(source));
  return [...new Map(wanted.map((profile) => [profile.model.source, profile])).values()];
}

const asModelOf =
  (profile: Profile) =>
  ({ source }: AdapterSpec): Profile => ({ ...profile, model: { source, files: [], sha256: {} }, adapters: {} });

/** The snapshot with what sources have said; of models that no profile names any more nothing is kept. */
export function withLooked(before: Snapshot, looked: readonly LookedModel[]): Snapshot {
  const profiles = [...before.profiles.map(({ profile }) => profile), ...before.specs.map(({ spec }) => spec)];
  const adapters = profiles.flatMap((profile) => adaptersOf(profile).map(({ source }) => source));
  const wanted = new Set([...profiles.map(({ model }) => model.source), ...adapters]);
  const merged = new Map([...before.models, ...looked].map((model) => [model.source, model]));
  const models = [...merged.values()].filter(({ source }) => wanted.has(source));
  return { ...before, models: models.toSorted((a, b) => (a.source < b.source ? -1 : 1)) };
}
