import { expect, test } from "vitest";
import { compareNumbers } from "./compare-numbers.ts";

test.each([
  { a: "2.9", b: "2.39", sign: -1 },
  { a: "2.39", b: "2_28", sign: 1 },
  { a: "b9999", b: "b11669", sign: -1 },
  { a: "525.60.11", b: "525.60.13", sign: -1 },
  { a: "525", b: "525.60.13", sign: -1 },
  { a: "580.65.06", b: "580", sign: 1 },
  { a: "580", b: "580.0", sign: 0 },
  { a: "", b: "0", sign: 0 },
])("$a beside $b", ({ a, b, sign }) => {
  expect(Math.sign(compareNumbers(a, b))).toBe(sign);
  expect(Math.sign(compareNumbers(b, a))).toBe(sign === 0 ? 0 : -sign);
});
