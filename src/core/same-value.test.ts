import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson } from "./fingerprint.ts";
import { sameValue } from "./same-value.ts";

const rows: readonly { name: string; a: unknown; b: unknown; want: boolean }[] = [
  { name: "fields in another order", a: { x: 1, y: { z: [1] } }, b: { y: { z: [1] }, x: 1 }, want: true },
  { name: "a field that is undefined, and one that is not there", a: { x: 1, y: undefined }, b: { x: 1 }, want: true },
  { name: "the same the other way round", a: { x: 1 }, b: { x: 1, y: undefined }, want: true },
  { name: "a field more", a: { x: 1 }, b: { x: 1, y: 0 }, want: false },
  { name: "a field less", a: { x: 1, y: 0 }, b: { x: 1 }, want: false },
  { name: "null and a field that is not there", a: { x: null }, b: {}, want: false },
  { name: "lists in another order", a: [1, 2], b: [2, 1], want: false },
  { name: "a list that is longer", a: [1], b: [1, 2], want: false },
  { name: "a list and an object with its numbers", a: ["x"], b: { 0: "x" }, want: false },
  { name: "a field with a name that every object has", a: { toString: undefined }, b: {}, want: true },
  { name: "a field named constructor", a: { constructor: 1 }, b: {}, want: false },
  { name: "a number and its text", a: 1, b: "1", want: false },
];

describe("sameValue", () => {
  test.each(rows)("$name: $want", ({ a, b, want }) => {
    expect(sameValue(a, b)).toBe(want);
  });

  test("says what canonical JSON says", () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(sameValue(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
        expect(sameValue(a, JSON.parse(canonicalJson(a)))).toBe(true);
      }),
    );
  });
});
