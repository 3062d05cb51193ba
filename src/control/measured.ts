import { type Bytes, bytes, type Millis } from "../core/ids.ts";
import { byAge, launchKey, type MeasuredMemory, type Measurement, measurementKey } from "../core/measured-memory.ts";
import type { ClusterNode } from "../core/node.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica, Share } from "../core/replica-state.ts";
import type { Snapshot } from "../store/store.ts";
import { specKey, specsByKey } from "./changes.ts";
import { knownModels } from "./model-needs.ts";

/** Enough for every model, build and kind of GPU of a large cluster; the oldest make room. */
const MOST = 2000;
/** Memory of a loaded model that is not at least this part of its weights was not all loaded, or not all seen. */
const LEAST_OF_WEIGHTS = 0.5;

/** What is known of engines' memory, with what the replicas' nodes have found out since `before`. */
export function learned(before: Snapshot, after: Snapshot, now: Millis): readonly Measurement[] {
  if (before.replicas === after.replicas) return after.measurements;
  const old = new Map(before.replicas.map(({ id, measured }) => [id, measured]));
  const news = after.replicas.filter(({ id, measured }) => measured !== undefined && measured !== old.get(id));
  if (news.length === 0) return after.measurements;
  const specs = specsByKey(after);
  const weightsOf = knownModels(after);
  const found = news.flatMap((replica) => {
    const spec = specs.get(specKey(replica));
    const node = after.nodes.find(({ id }) => id === replica.placement?.node);
    if (spec === undefined || node === undefined) return [];
    return measurementOf(replica, { spec, node, weights: weightsOf(spec.model.source).weights, now });
  });
  return found.length === 0 ? after.measurements : merged(after.measurements, found);
}

interface Beside {
  readonly spec: Profile;
  readonly node: Pick<ClusterNode, "inventory">;
  /** Of the model; undefined: not known. */
  readonly weights: Bytes | undefined;
  readonly now: Millis;
}

/** None: the figure cannot be all that the replica takes. */
export function measurementOf(
  { state, placement, measured = [] }: Pick<Replica, "state" | "placement" | "measured">,
  { spec, node, weights, now }: Beside,
): readonly Measurement[] {
  if (state.kind !== "ready" || state.engine === "" || placement === undefined) return [];
  // Each rank of several has its part of the model, and which part that is follows from the others.
  const [memory] = placement.gang === undefined ? measured.flatMap((one) => one.memory) : [];
  if (memory === undefined) return [];
  const gpuType = typeOf(placement, node);
  if (gpuType === undefined || !isPlausible(memory, { placement, node, weights })) return [];
  const perGpu = Math.max(0, ...memory.gpus.map((use) => use.bytes));
  return [
    {
      ...{ source: spec.model.source, engine: state.engine, launch: launchKey(spec), gpuType },
      gpus: placement.gpus.length,
      host: memory.host,
      perGpu: bytes(perGpu),
      beyond: bytes(perGpu === 0 ? 0 : Math.max(0, perGpu - placement.gpuMemory)),
      at: now,
    },
  ];
}

/** "" on the CPU; undefined: they differ, or one is not known. */
function typeOf({ gpus }: Share, { inventory }: Beside["node"]): string | undefined {
  if (gpus.length === 0) return "";
  const names = new Set(gpus.map((uuid) => inventory.gpus.find((gpu) => gpu.uuid === uuid)?.name));
  return names.size === 1 ? [...names][0] : undefined;
}

/** What is more than there is, or less than the model, was measured wrongly or too early. */
function isPlausible(
  { host, gpus }: MeasuredMemory,
  {
    placement,
    node: { inventory },
    weights = bytes(0),
  }: Pick<Beside, "node" | "weights"> & { readonly placement: Share },
): boolean {
  if (host <= 0 || host > inventory.memoryTotal) return false;
  if (placement.gpus.length === 0) return host >= weights * LEAST_OF_WEIGHTS;
  // A GPU without memory of its own takes the host's, of which drivers do not say whose it is.
  const totals = placement.gpus.map((uuid) => inventory.gpus.find((gpu) => gpu.uuid === uuid)?.memoryTotal ?? 0);
  const uses = placement.gpus.map((uuid) => gpus.find((use) => use.uuid === uuid)?.bytes ?? 0);
  const isPossible = uses.every((use, at) => use > 0 && use <= (totals[at] ?? 0));
  return isPossible && uses.reduce<number>((sum, use) => sum + use, 0) >= weights * LEAST_OF_WEIGHTS;
}

/** The most that was seen of each counts: what fills with use is not full at every look. */
function merged(before: readonly Measurement[], found: readonly Measurement[]): readonly Measurement[] {
  const known = new Map(before.map((one) => [measurementKey(one), one]));
  let isNew = false;
  for (const one of found) {
    const key = measurementKey(one);
    const was = known.get(key);
    const most = was === undefined ? one : withMost(was, one);
    isNew ||= most !== was;
    known.set(key, most);
  }
  return isNew ? [...known.values()].toSorted(byAge).slice(-MOST) : before;
}

/** The older one when the newer one says nothing more. */
function withMost(was: Measurement, now: Measurement): Measurement {
  const isMore = now.host > was.host || now.perGpu > was.perGpu || now.beyond > was.beyond;
  if (!isMore) return was;
  const most = (a: Bytes, b: Bytes): Bytes => bytes(Math.max(a, b));
  return {
    ...now,
    host: most(was.host, now.host),
    perGpu: most(was.perGpu, now.perGpu),
    beyond: most(was.beyond, now.beyond),
  };
}
