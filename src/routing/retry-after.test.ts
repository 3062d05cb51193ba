import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { readRetryAfter, toRetryAfter } from "./retry-after.ts";

const now = millis(Date.UTC(2026, 9, 21, 7, 27, 30));

describe("B129 forms of Retry-After", () => {
  test.each([
    ["5", 5],
    ["Wed, 21 Oct 2026 07:28:00 GMT", 30],
    ["1.5", 2],
    ["-3", undefined],
    ["inf", undefined],
    ["99999999", 60],
    ["", undefined],
    ["0", 1],
    ["0x10", undefined],
    ["Wed, 21 Oct 2026 07:27:00 GMT", undefined],
    ["Wed, 99 Foo 2026 07:27:00 GMT", undefined],
    ["NaN", undefined],
  ])("%j is %s", (value, want) => {
    expect(readRetryAfter(value, now)).toBe(want);
  });
});

test.each([
  [12_000, 12],
  [60_000, 60],
  [400, 1],
  [0, 1],
  [-5, 1],
  [3_600_000, 60],
])("B123 a wait of %d ms is told as %d s", (wait, want) => {
  expect(toRetryAfter(millis(wait))).toBe(want);
});
