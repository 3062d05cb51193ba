import { compareTexts } from "../core/compare-texts.ts";
import type { ProfileName } from "../core/ids.ts";
import type { Topology } from "./gpu-groups.ts";
import { type GpuView, type NodeView } from "./node-view.ts";

/** More sets than that are not all tried: from each GPU on the nearest ones are taken, one after the other. */
const MOST_SETS = 5000;

/** By this order: each of two sets is compared by the first in which they differ, and the smaller is better. */
interface Rank {
  /** Replicas of the same profile that are on them already: two of them on one GPU get no more done than one. */
  readonly siblings: number;
  /** The longest way in the set, which all wait for. */
  readonly farthest: number;
  readonly together: number;
  /** Free GPUs that each group has left, the largest first, each negative: what needs a large one still finds it. */
  readonly left: readonly number[];
}

/** What the sets are chosen for. */
interface Choice {
  readonly count: number;
  readonly profile: ProfileName;
}

interface Standing {
  readonly topology: Topology;
  /** By their places in the node's list. */
  readonly siblings: readonly number[];
  /** Places of those that nobody is on, nor anything else. */
  readonly free: ReadonlySet<number>;
}

/** The emptiest first: estimates are estimates, and a neighbour that needs more than it said harms only itself. */
export const emptiest = (a: GpuView, b: GpuView): number => b.free - a.free || compareTexts(a.gpu.uuid, b.gpu.uuid);

/** The GPUs that are closest to each other of those that fit, and of such sets the one that leaves the largest groups whole. */
export function chooseGpus(
  view: NodeView,
  fitting: readonly GpuView[],
  { count, profile }: Choice,
): readonly GpuView[] {
  const sorted = fitting.toSorted(emptiest);
  if (count === 0 || sorted.length <= count) return sorted.slice(0, count);
  const placeOf = new Map(view.gpus.map((gpu, at) => [gpu, at]));
  const standing: Standing = {
    topology: view.topology,
    siblings: view.gpus.map(({ gpu }) => siblingsOn(view, gpu.uuid, profile)),
    free: new Set(view.idleGpus.flatMap((gpu) => placeOf.get(gpu) ?? [])),
  };
  const places = sorted.flatMap((gpu) => placeOf.get(gpu) ?? []);
  let best: { readonly set: readonly number[]; readonly rank: Rank } | undefined;
  for (const set of candidates(places, count, standing.topology)) {
    const rank = rankOf(set, standing);
    if (best === undefined || isBetter(rank, best.rank)) best = { set, rank };
  }
  return (best?.set ?? []).flatMap((at) => view.gpus[at] ?? []).toSorted(emptiest);
}

const siblingsOn = ({ bookings }: NodeView, uuid: GpuView["gpu"]["uuid"], profile: ProfileName): number =>
  bookings.filter((booking) => booking.profile === profile && booking.share.gpus.includes(uuid)).length;

/** Those of the emptiest GPUs come first, so that of equals they are taken. */
function candidates(places: readonly number[], count: number, topology: Topology): Iterable<readonly number[]> {
  return setsOf(places.length, count) <= MOST_SETS ? everySet(places, count) : nearestSets(places, count, topology);
}

function setsOf(all: number, count: number): number {
  return Array.from({ length: count }, (_, n) => (all - n) / (n + 1)).reduce((product, factor) => product * factor, 1);
}

function* everySet(places: readonly number[], count: number): Generator<readonly number[]> {
  if (count === 0) {
    yield [];
    return;
  }
  for (const [at, place] of places.entries()) {
    if (places.length - at < count) return;
    for (const rest of everySet(places.slice(at + 1), count - 1)) yield [place, ...rest];
  }
}

function* nearestSets(places: readonly number[], count: number, { distances }: Topology): Generator<readonly number[]> {
  for (const first of places) {
    const near = places.toSorted((a, b) => (distances[first]?.[a] ?? 0) - (distances[first]?.[b] ?? 0));
    yield [first, ...near.filter((place) => place !== first)].slice(0, count);
  }
}

function rankOf(set: readonly number[], { topology, siblings, free }: Standing): Rank {
  const { distances, groups } = topology;
  const pairs = set.flatMap((a, at) => set.slice(at + 1).map((b) => distances[a]?.[b] ?? 0));
  const left = groups.map((group) => -group.filter((at) => free.has(at) && !set.includes(at)).length);
  return {
    siblings: set.reduce((sum, at) => sum + (siblings[at] ?? 0), 0),
    farthest: Math.max(0, ...pairs),
    together: pairs.reduce((sum, distance) => sum + distance, 0),
    left: left.toSorted((a, b) => a - b),
  };
}

function isBetter(one: Rank, other: Rank): boolean {
  const steps: readonly (readonly [number, number])[] = [
    [one.siblings, other.siblings],
    [one.farthest, other.farthest],
    [one.together, other.together],
    ...one.left.map((left, at): readonly [number, number] => [left, other.left[at] ?? 0]),
  ];
  const differing = steps.find(([a, b]) => Math.abs(a - b) > NOTHING);
  return differing !== undefined && differing[0] < differing[1];
}

/** What sums of fractions differ by without meaning it. */
const NOTHING = 1e-9;

/** The longest way between the GPUs; 0 for one alone. */
export function farthestOf(view: NodeView, chosen: readonly GpuView[]): number {
  const { distances } = view.topology;
  const places = chosen.map((gpu) => view.gpus.indexOf(gpu));
  return Math.max(0, ...places.flatMap((a) => places.map((b) => distances[a]?.[b] ?? 0)));
}

/** No set of so many GPUs of the node is closer together than this, whether they are free or not. */
export const nearestOf = ({ topology }: NodeView, count: number): number => topology.nearest[count - 1] ?? 0;
