import fc from "fast-check";
import { expect, test } from "vitest";
import { PrefixIndex } from "./prefix-index.ts";

test("the latest holder is first, each is there once, and four are enough", () => {
  const index = new PrefixIndex(10);
  for (const replica of ["a", "b", "a", "c", "d", "e"]) index.learn([1], replica);
  expect(index.holders(1)).toEqual(["e", "d", "c", "a"]);
  expect(index.holders(2)).toEqual([]);
});

test("never more keys than its capacity, and the latest half is always there", () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat({ max: 60 }), { maxLength: 300 }),
      fc.integer({ min: 2, max: 20 }),
      (keys, capacity) => {
        const index = new PrefixIndex(capacity);
        const latest: number[] = [];
        for (const [turn, key] of keys.entries()) {
          index.learn([key], `r${String(turn % 3)}`);
          latest.push(key);
          expect(index.size).toBeLessThanOrEqual(capacity);
          expect(index.holders(key)[0]).toBe(`r${String(turn % 3)}`);
        }
        const distinct = [...new Set(latest.toReversed())].slice(0, Math.floor(capacity / 2));
        for (const key of distinct.slice(0, 1)) expect(index.holders(key)).not.toEqual([]);
      },
    ),
  );
});
