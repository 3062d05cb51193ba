import fc from "fast-check";
import { expect, test } from "vitest";
import { partOf } from "./part.ts";

const count = fc.integer({ min: 1, max: 64 });
const parts = (slots: number, workers: number, turn: number): readonly number[] =>
  [...Array(workers).keys()].map((index) => partOf(slots, { index, count: workers }, turn));

test("the parts are the whole, and differ by one at the most", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4096 }), count, fc.nat(), (slots, workers, turn) => {
      const all = parts(slots, workers, turn);
      expect(all.reduce((sum, part) => sum + part, 0)).toBe(Math.max(slots, workers));
      expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(1);
    }),
  );
});

test("an engine that does not tell its slots has no end of them", () => {
  expect(parts(Infinity, 3, 1)).toEqual([Infinity, Infinity, Infinity]);
});
