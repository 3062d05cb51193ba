import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { allocate, type Sharer } from "./allocate.ts";

const sharer = (used: number, wanted: number): Sharer => ({ used, wanted });
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

describe("who has how much", () => {
  test.each([
    { name: "one has it all", limit: 60, of: [sharer(0, 0)], want: [60] },
    { name: "nobody wants anything: in equal parts", limit: 60, of: [sharer(0, 0), sharer(0, 0)], want: [30, 30] },
    { name: "an odd one", limit: 5, of: [sharer(0, 0), sharer(0, 0)], want: [3, 2] },
    { name: "one wants all of it", limit: 60, of: [sharer(10, 100), sharer(0, 0)], want: [60, 0] },
    { name: "one wants some", limit: 60, of: [sharer(20, 20), sharer(0, 0)], want: [50, 10] },
    { name: "by what is wanted", limit: 40, of: [sharer(0, 300), sharer(0, 100)], want: [30, 10] },
    { name: "little beside much", limit: 10, of: [sharer(0, 10_000), sharer(0, 1)], want: [9, 1] },
    { name: "what is used stays", limit: 10, of: [sharer(8, 8), sharer(0, 100)], want: [8, 2] },
    { name: "too few for all", limit: 1, of: [sharer(0, 5), sharer(0, 5)], want: [1, 0] },
    { name: "lowered below what is used", limit: 4, of: [sharer(6, 6), sharer(2, 9)], want: [3, 1] },
    { name: "nothing to share", limit: 0, of: [sharer(0, 3), sharer(0, 0)], want: [0, 0] },
    { name: "nobody", limit: 9, of: [], want: [] },
  ])("$name", ({ limit, of, want }) => {
    expect(allocate(limit, of)).toEqual(want);
  });

  test("the odd one is not the same sharer's for every key", () => {
    const two = [sharer(0, 0), sharer(0, 0)];
    expect([allocate(1, two, 0), allocate(1, two, 1)]).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });
});

const sharers = fc.array(
  fc.record({
    used: fc.oneof(fc.constant(0), fc.nat({ max: 50 })),
    wanted: fc.oneof(fc.constant(0), fc.nat({ max: 500 })),
  }),
  { minLength: 1, maxLength: 8 },
);

function expectServed(limit: number, of: readonly Sharer[], shares: readonly number[]): void {
  const wanted = sum(of.map((one) => Math.max(one.wanted, one.used)));
  const enoughForEach = limit - sum(of.map((one) => one.used)) >= of.length;
  for (const [at, { used, wanted: itsWish }] of of.entries()) {
    const share = shares[at] ?? -1;
    expect(share).toBeGreaterThanOrEqual(used);
    if (wanted <= limit) expect(share).toBeGreaterThanOrEqual(itsWish);
    else expect(share).toBeLessThanOrEqual(Math.max(itsWish, used) + 1);
    if (enoughForEach && itsWish > 0) expect(share).toBeGreaterThan(0);
  }
}

test("never above the limit; what is used stays; demand is served; nobody starves; nothing is left over", () => {
  fc.assert(
    fc.property(fc.nat({ max: 300 }), sharers, fc.nat({ max: 20 }), (limit, of, turn) => {
      const shares = allocate(limit, of, turn);
      const used = sum(of.map((one) => one.used));
      expect(shares).toHaveLength(of.length);
      for (const share of shares) expect(Number.isInteger(share) && share >= 0).toBe(true);
      if (used < limit) {
        expect(sum(shares)).toBe(limit);
        expectServed(limit, of, shares);
      } else {
        expect(sum(shares)).toBeLessThanOrEqual(limit);
        for (const [at, share] of shares.entries()) expect(share).toBeLessThanOrEqual(of[at]?.used ?? 0);
      }
    }),
    { numRuns: 500 },
  );
});
