import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GiB, gpu, node, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, gpuUuid, nodeId, profileName } from "../core/ids.ts";
import type { Gpu, GpuLink, LinkKind } from "../core/node.ts";
import { chooseGpus, farthestOf, nearestOf } from "./gpu-choice.ts";
import { distanceBetween } from "./gpu-distance.ts";
import { topologyOf } from "./gpu-groups.ts";
import { type NodeView, nodeViews } from "./node-view.ts";

const uuid = (at: number) => gpuUuid(`g${String(at)}`);

/** A node's GPUs with what `linkOf` says is between two of them; undefined: nobody could tell. */
const linkedGpus = (
  count: number,
  linkOf: (a: number, b: number) => readonly [LinkKind, number] | undefined,
  more: (at: number) => Partial<Gpu> = () => ({}),
): readonly Gpu[] =>
  Array.from({ length: count }, (_, at) => {
    const links = Array.from({ length: count }, (__, other): readonly GpuLink[] => {
      const link = at === other ? undefined : linkOf(Math.min(at, other), Math.max(at, other));
      return link === undefined ? [] : [{ to: uuid(other), kind: link[0], lanes: link[1] }];
    });
    return gpu(uuid(at), { index: at, links: links.flat(), ...more(at) });
  });

const half = (at: number): number => Math.floor(at / 4);
/** One switch that joins all of them. */
const nvswitch = linkedGpus(8, () => ["nvlink", 18]);
/** Two boards of four. */
const boards = linkedGpus(8, (a, b) => (half(a) === half(b) ? ["nvlink", 4] : ["sys", 0]));
/** Bridges over pairs: 0 and 1, 2 and 3, … */
const pairs = linkedGpus(8, (a, b) => (b === a + 1 && a % 2 === 0 ? ["nvlink", 4] : ["node", 0]));
/** PCIe switches with two each, two switches at each processor. */
const switches = linkedGpus(8, (a, b) =>
  half(a) !== half(b) ? ["sys", 0] : a >> 1 === b >> 1 ? ["pix", 0] : ["node", 0],
);
/** Nobody could tell the links. */
const byNuma = linkedGpus(
  4,
  () => undefined,
  (at) => ({ numaNode: at % 2 }),
);
const byBus = linkedGpus(
  4,
  () => undefined,
  (at) => ({ pciBusId: `0000:${["1b", "c1", "1c", "c0"][at] ?? ""}:00.0` }),
);
const unknown = linkedGpus(4, () => undefined);
/** Each has two lanes to one, one lane to two others of its board, and one lane across. */
const mesh = linkedGpus(8, (a, b) => {
  if (half(a) !== half(b)) return b - a === 4 ? ["nvlink", 2] : ["sys", 0];
  return ["nvlink", a >> 1 === b >> 1 ? 2 : 1];
});

/** What runs there: the GPUs of each replica of p. */
const viewOf = (gpus: readonly Gpu[], taken: readonly (readonly number[])[] = [], name = "other"): NodeView => {
  const replicas = taken.map((on, at) =>
    replica(`${name}-${String(at)}`, profile(name), ready, {
      on: "n",
      placement: { node: nodeId("n"), gpus: on.map(uuid), memory: bytes(0), gpuMemory: bytes(GiB) },
    }),
  );
  const [view] = nodeViews([node("n", { gpus })], replicas);
  if (view === undefined) throw new Error("no view");
  return view;
};

const choose = (view: NodeView, count: number, fitting = view.gpus) =>
  chooseGpus(view, fitting, { count, profile: profileName("p") })
    .map(({ gpu: { index } }) => index)
    .toSorted((a, b) => a - b);

const whole = (view: NodeView, count: number) =>
  choose(
    view,
    count,
    view.gpus.filter(({ booked }) => booked === 0),
  );

describe("which GPUs of a node", () => {
  test.each([
    { name: "an NVSwitch box is one group: any will do", gpus: nvswitch, taken: [], count: 4, want: [0, 1, 2, 3] },
    { name: "four of one board", gpus: boards, taken: [[0]], count: 4, want: [4, 5, 6, 7] },
    { name: "two of the board that is begun", gpus: boards, taken: [[0]], count: 2, want: [1, 2] },
    { name: "two of the board that they fill up", gpus: boards, taken: [[4, 5]], count: 2, want: [6, 7] },
    { name: "one of the board that is begun", gpus: boards, taken: [[5]], count: 1, want: [4] },
    { name: "a pair with a bridge", gpus: pairs, taken: [[0], [3]], count: 2, want: [4, 5] },
    { name: "one whose bridge leads to one in use", gpus: pairs, taken: [[2]], count: 1, want: [3] },
    { name: "two behind one PCIe switch", gpus: switches, taken: [[0], [2]], count: 2, want: [4, 5] },
    { name: "four at one processor", gpus: switches, taken: [[0]], count: 4, want: [4, 5, 6, 7] },
    { name: "without links: two at one NUMA node", gpus: byNuma, taken: [], count: 2, want: [0, 2] },
    { name: "without links: what stays is a whole NUMA node", gpus: byNuma, taken: [[1]], count: 1, want: [3] },
    { name: "without links and NUMA nodes: neighbours on the bus", gpus: byBus, taken: [], count: 2, want: [0, 2] },
    { name: "B13 what nobody knows is neutral: the first", gpus: unknown, taken: [], count: 2, want: [0, 1] },
    { name: "two with the most lanes, also across boards", gpus: mesh, taken: [[0]], count: 2, want: [1, 5] },
    { name: "four that all reach each other", gpus: mesh, taken: [[1]], count: 4, want: [4, 5, 6, 7] },
  ])("$name", ({ gpus, taken, count, want }) => {
    expect(whole(viewOf(gpus, taken), count)).toEqual(want);
  });

  test("a small model shares a GPU that is in use already, so that whole ones stay", () => {
    expect(choose(viewOf(nvswitch, [[3]]), 1)).toEqual([3]);
  });

  test("but not with a replica of its own profile, which would do no more together than one of them", () => {
    expect(choose(viewOf(nvswitch, [[3]], "p"), 1)).toEqual([0]);
  });

  test("of those in use it takes the emptiest", () => {
    const gpus = boards.map((one, at) => (at === 1 ? { ...one, memoryFree: bytes(8 * GiB) } : one));
    expect(choose(viewOf(gpus, [[1], [2]]), 1)).toEqual([2]);
  });

  test("B13 one whose NUMA node is not known is neither near nor far", () => {
    const [a, b, c] = linkedGpus(
      3,
      () => undefined,
      (at) => [{ numaNode: 0 }, { numaNode: 1 }, {}][at] ?? {},
    );
    if (a === undefined || b === undefined || c === undefined) throw new Error("three");
    const [near, middle, far] = [distanceBetween(a, a), distanceBetween(a, c), distanceBetween(a, b)];
    expect(near).toBeLessThan(middle);
    expect(middle).toBeLessThan(far);
  });

  test("of sixteen GPUs eight are found without trying every set", () => {
    const many = linkedGpus(16, (a, b) => (a % 2 === b % 2 ? ["nvlink", 4] : ["sys", 0]));
    expect(whole(viewOf(many), 8)).toEqual([0, 2, 4, 6, 8, 10, 12, 14]);
  });
});

test.each([
  { name: "an NVSwitch box", gpus: nvswitch, want: [[0, 1, 2, 3, 4, 5, 6, 7]] },
  {
    name: "two boards",
    gpus: boards,
    want: [
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ],
  },
  {
    name: "PCIe switches",
    gpus: switches,
    want: [
      [0, 1],
      [2, 3],
      [4, 5],
      [6, 7],
    ],
  },
  {
    name: "NUMA nodes",
    gpus: byNuma,
    want: [
      [0, 2],
      [1, 3],
    ],
  },
  { name: "nobody knows", gpus: unknown, want: [[0, 1, 2, 3]] },
  { name: "one GPU", gpus: nvswitch.slice(0, 1), want: [[0]] },
  { name: "none", gpus: [], want: [] },
])("the groups of $name", ({ gpus, want }) => {
  expect(topologyOf(gpus).groups).toEqual(want);
});

const KINDS: readonly (readonly [LinkKind, number])[] = [
  ["nvlink", 4],
  ["nvlink", 2],
  ["pix", 0],
  ["node", 0],
  ["sys", 0],
];

/** Every way to take so many of the things. */
const setsOf = <T>(all: readonly T[], count: number): readonly (readonly T[])[] =>
  all
    .reduce<readonly (readonly T[])[]>((sets, one) => [...sets, ...sets.map((set) => [...set, one])], [[]])
    .filter((set) => set.length === count);

test("whatever the links, no other set of free GPUs is closer, and of equals none leaves a larger group", () => {
  const anyNode = fc.integer({ min: 2, max: 6 }).chain((count) =>
    fc.record({
      links: fc.array(fc.nat({ max: KINDS.length - 1 }), { minLength: 36, maxLength: 36 }),
      taken: fc.uniqueArray(fc.nat({ max: count - 1 }), { maxLength: count - 1 }),
      count: fc.constant(count),
      asked: fc.integer({ min: 1, max: 4 }),
    }),
  );
  fc.assert(
    fc.property(anyNode, ({ links, taken, count, asked }) => {
      const view = viewOf(
        linkedGpus(count, (a, b) => KINDS[links[6 * a + b] ?? 0]),
        taken.map((at) => [at]),
      );
      const free = view.gpus.filter(({ booked }) => booked === 0);
      const chosen = whole(view, asked);
      if (free.length < asked) return;
      const sets = setsOf(
        free.map(({ gpu: { index } }) => index),
        asked,
      );
      const farthest = (set: readonly number[]) =>
        farthestOf(
          view,
          set.flatMap((at) => view.gpus[at] ?? []),
        );
      const left = (set: readonly number[]) =>
        Math.max(
          ...topologyOf(view.node.inventory.gpus).groups.map(
            (group) =>
              group.filter((at) => free.some(({ gpu: { index } }) => index === at) && !set.includes(at)).length,
          ),
        );
      const closest = Math.min(...sets.map(farthest));
      expect(chosen).toHaveLength(asked);
      expect(nearestOf(view, asked)).toBeLessThanOrEqual(closest + 1e-9);
      expect(farthest(chosen)).toBeCloseTo(closest, 9);
      const sum = (set: readonly number[]) =>
        set.reduce((all, a) => all + set.reduce((row, b) => row + farthest([a, b]), 0), 0);
      const equals = sets.filter((set) => farthest(set) - closest < 1e-9 && sum(set) - sum(chosen) < 1e-9);
      expect(left(chosen)).toBe(Math.max(...equals.map(left)));
      // The same, in whatever order they are offered.
      expect(choose(view, asked, free.toReversed())).toEqual(chosen);
    }),
    { numRuns: 300 },
  );
});
