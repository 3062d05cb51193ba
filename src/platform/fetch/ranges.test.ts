import fc from "fast-check";
import { expect, test } from "vitest";
import { type ByteRange, covered, nextGap, prefixOf, type RangeSet, withRange } from "./ranges.ts";

const range = fc
  .tuple(fc.nat({ max: 40 }), fc.nat({ max: 12 }))
  .map(([start, size]): ByteRange => ({ start, end: start + size }));

const members = (set: RangeSet): readonly number[] =>
  set.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i));

test("a set holds exactly the bytes that were put in, sorted and without touching neighbours", () => {
  fc.assert(
    fc.property(fc.array(range), (added) => {
      const set = added.reduce<RangeSet>(withRange, []);
      const want = [...new Set(added.flatMap((one) => members([one])))].toSorted((a, b) => a - b);
      expect(members(set)).toEqual(want);
      expect(covered(set)).toBe(want.length);
      set.slice(1).forEach((one, i) => {
        expect(one.start).toBeGreaterThan(set[i]?.end ?? Infinity);
      });
    }),
  );
});

test("taking gap after gap covers everything once", () => {
  fc.assert(
    fc.property(fc.array(range), fc.integer({ min: 1, max: 9 }), (added, size) => {
      let set = added.reduce<RangeSet>(withRange, []);
      const limit = 60;
      for (let gap = nextGap([set], limit, size); gap !== undefined; gap = nextGap([set], limit, size)) {
        const already = new Set(members(set));
        expect(members([gap]).filter((byte) => already.has(byte))).toEqual([]);
        expect(gap.end - gap.start).toBeLessThanOrEqual(size);
        set = withRange(set, gap);
      }
      expect(prefixOf(set)).toBe(limit);
    }),
  );
});

test("a gap in one set that another covers is no gap", () => {
  expect(nextGap([[{ start: 0, end: 4 }], [{ start: 4, end: 8 }]], 12, 3)).toEqual({ start: 8, end: 11 });
  expect(nextGap([[{ start: 0, end: 4 }], [{ start: 4, end: 12 }]], 12, 3)).toBeUndefined();
});
