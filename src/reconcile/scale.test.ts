import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import type { Replica, ReplicaState } from "../core/replica-state.ts";
import { type Demand, type ReplicaRange, scaleByLoad, type ScaleView } from "./scale.ts";
import { scaleWords, surplusWords } from "./scale-words.ts";

const IDLE = 600;
const range = (more: Partial<ReplicaRange> = {}): ReplicaRange => ({
  ...{ kind: "range", min: 0, max: 4, targetInFlight: 8, idle: millis(IDLE) },
  ...more,
});

const starting: ReplicaState = { kind: "starting", note: "" };
const pending: ReplicaState = { kind: "pending", rejections: [] };
const p = profile("p");
const are = (state: ReplicaState, count: number): readonly Replica[] =>
  Array.from({ length: count }, (_, index) => replica(`r${String(index)}`, p, state));

const seen = (load: number, now: number, more: Partial<ScaleView> = {}): ScaleView => ({
  ...{ load, isKnown: true, replicas: are(ready, 1), now: millis(now) },
  ...more,
});

/** What is wanted after a history: the last of it is now. */
const after = (of: ReplicaRange, ...history: readonly ScaleView[]): Demand => {
  const last = history.reduce<Demand | undefined>((before, view) => scaleByLoad(of, before, view), undefined);
  return last ?? expect.fail("no history");
};

const none = { replicas: [] };

test.each<{ name: string; of?: Partial<ReplicaRange>; history: readonly ScaleView[]; want: number }>([
  { name: "nothing was ever asked: the fewest", history: [seen(0, 0, none)], want: 0 },
  { name: "nothing was ever asked, one is always to be there", of: { min: 1 }, history: [seen(0, 0, none)], want: 1 },
  { name: "a request wakes one", history: [seen(0, 0, none), seen(1, 1, none)], want: 1 },
  { name: "a burst of a hundred wakes one", history: [seen(0, 0, none), seen(100, 1, none)], want: 1 },
  {
    name: "a burst goes on while the first starts: still one",
    history: [seen(0, 0, none), seen(100, 1, none), seen(300, 2, { replicas: are(starting, 1) })],
    want: 1,
  },
  {
    name: "once the first is ready the target decides, up to the most",
    history: [seen(0, 0, none), seen(100, 1, none), seen(100, 2)],
    want: 4,
  },
  { name: "as many as the target asks for", history: [seen(0, 0), seen(17, 1)], want: 3 },
  { name: "exactly at the target there is no need for one more", history: [seen(0, 0), seen(16, 1)], want: 2 },
  { name: "a step down waits for idle", history: [seen(24, 0), seen(0, 1), seen(0, IDLE - 1)], want: 3 },
  { name: "and comes then", history: [seen(0, 0), seen(24, 1), seen(9, 2), seen(9, IDLE + 1)], want: 2 },
  {
    name: "each replica has an idle time of its own",
    history: [seen(0, 0), seen(24, 1), seen(9, 300), seen(0, 301), seen(0, IDLE + 1), seen(0, IDLE + 299)],
    want: 2,
  },
  {
    name: "to none after idle",
    history: [seen(0, 0), seen(1, 1), seen(0, 2), seen(0, IDLE + 2)],
    want: 0,
  },
  {
    name: "a server that has just started needs what is there",
    history: [seen(0, 0, { replicas: are(ready, 3) }), seen(0, 1, { replicas: are(ready, 3) })],
    want: 3,
  },
  {
    name: "a router that has not said what it has: nothing goes",
    history: [
      seen(0, 0, { replicas: are(ready, 3) }),
      seen(0, IDLE - 1, { isKnown: false, replicas: are(ready, 3) }),
      seen(0, 2 * IDLE - 2, { replicas: are(ready, 3) }),
    ],
    want: 3,
  },
  {
    name: "a start that takes longer than idle is not given up, though whoever asked has left",
    history: [seen(0, 0, none), seen(1, 1, none), seen(0, 2, { replicas: are(starting, 1) })].concat(
      [1, 2, 3].map((n) => seen(0, n * IDLE, { replicas: are(starting, 1) })),
    ),
    want: 1,
  },
  {
    name: "one that finds no place is given up after idle",
    history: [seen(0, 0, none), seen(1, 1, none), seen(0, 2, { replicas: are(pending, 1) })].concat(
      seen(0, IDLE + 2, { replicas: are(pending, 1) }),
    ),
    want: 0,
  },
  {
    name: "all have crashed under load: as many as there were, and no more",
    history: [seen(0, 0), seen(16, 1), seen(100, 2, { replicas: are(starting, 2) })],
    want: 2,
  },
  { name: "more than the most that there may be now", history: [seen(0, 0, { replicas: are(ready, 9) })], want: 4 },
])("$name: $want", ({ of = {}, history, want }) => {
  expect(after(range(of), ...history).wanted).toBe(want);
});

describe("any load", () => {
  const loads = fc.array(fc.record({ load: fc.nat({ max: 60 }), wait: fc.integer({ min: 1, max: 900 }) }), {
    maxLength: 60,
  });
  const ranges = fc
    .record({ min: fc.nat({ max: 3 }), more: fc.nat({ max: 4 }), targetInFlight: fc.integer({ min: 1, max: 10 }) })
    .map(({ min, more, targetInFlight }) => range({ min, max: Math.max(1, min + more), targetInFlight }));
  /** Replicas come and go at once, so that what is seen is the decision alone. */
  const trace = (of: ReplicaRange, steps: readonly { readonly load: number; readonly wait: number }[]) => {
    let now = 0;
    let demand: Demand | undefined;
    return steps.map(({ load, wait }) => {
      now += wait;
      const replicas = are(ready, Math.max(1, demand?.wanted ?? 1));
      demand = scaleByLoad(of, demand, seen(load, now, { replicas }));
      return { now, load, wanted: demand.wanted, peaks: demand.peaks.length };
    });
  };
  const needed = ({ targetInFlight }: ReplicaRange, load: number): number => Math.ceil(load / targetInFlight);

  test("stays within its limits, is enough at once, and remembers no more than the limits allow", () => {
    fc.assert(
      fc.property(ranges, loads, (of, steps) => {
        for (const { load, wanted, peaks } of trace(of, steps)) {
          expect(wanted).toBeGreaterThanOrEqual(Math.max(of.min, Math.min(of.max, needed(of, load))));
          expect(wanted).toBeLessThanOrEqual(of.max);
          expect(peaks).toBeLessThanOrEqual(of.max + 1);
        }
      }),
    );
  });

  test("does not flap: each step down stands for a whole idle without need, each step up for a need at that moment", () => {
    fc.assert(
      fc.property(ranges, loads, (of, steps) => {
        const points = trace(of, steps);
        for (const [index, point] of points.entries()) {
          const was = points[index - 1];
          if (was === undefined) continue;
          if (point.wanted > was.wanted) expect(needed(of, point.load)).toBeGreaterThanOrEqual(point.wanted);
          if (point.wanted >= was.wanted) continue;
          const lately = points.filter(({ now }) => now <= point.now && point.now - now < IDLE);
          for (const { load } of lately) expect(needed(of, load)).toBeLessThanOrEqual(point.wanted);
        }
      }),
    );
  });

  test("that stays the same is met exactly, an idle later at the latest", () => {
    fc.assert(
      fc.property(ranges, loads, fc.nat({ max: 60 }), (of, steps, load) => {
        const points = trace(of, [...steps, { load, wait: 1 }, { load, wait: IDLE }, { load, wait: IDLE }]);
        const want = Math.max(of.min, Math.min(of.max, needed(of, load)));
        expect(points.at(-1)?.wanted).toBe(want);
      }),
    );
  });
});

test.each<{ name: string; history: readonly ScaleView[]; want: string }>([
  { name: "new", history: [seen(0, 0, none), seen(0, 1, none)], want: "none until a request comes" },
  {
    name: "never asked",
    history: [seen(0, 0, { replicas: are(ready, 2) }), seen(0, 2000)],
    want: "scaled to 0: idle for 600ms",
  },
  { name: "idle", history: [seen(1, 0), seen(0, 1), seen(0, 2000)], want: "scaled to 0: idle for 600ms" },
  { name: "by its load", history: [seen(0, 0), seen(9, 1)], want: "for 9 requests, 8 for each replica" },
  {
    name: "over the most",
    history: [seen(0, 0), seen(100, 1)],
    want: "100 requests, 8 for each replica, would need 13; 4 is the most",
  },
  {
    name: "the first",
    history: [seen(0, 0, none), seen(100, 1, none)],
    want: "for 100 requests; whether more are needed is seen when one is ready",
  },
  {
    name: "lately",
    history: [seen(0, 0), seen(9, 1), seen(1, 201)],
    want: "1 request would need 1 since 200ms; fewer after 600ms of that",
  },
])("the words for one that is $name", ({ history, want }) => {
  expect(scaleWords(range(), after(range(), ...history), history.at(-1)?.now ?? millis(0))).toBe(want);
});

test.each([
  { wanted: 0, want: "scaled to 0: idle for 600ms" },
  { wanted: 2, want: "scaled to 2: no more were needed for 600ms" },
  { wanted: 4, want: "the profile asks for at most 4 now" },
])("why a replica beyond $wanted goes", ({ wanted, want }) => {
  expect(surplusWords(range(), wanted)).toBe(want);
});
