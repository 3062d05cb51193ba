import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatAge, formatBytes, formatDuration } from "./format.ts";

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("bytes", () => {
  test.each([
    { n: 0, want: "0 B" },
    { n: 1, want: "1 B" },
    { n: 1023, want: "1023 B" },
    { n: 1024, want: "1.0 KiB" },
    { n: 1536, want: "1.5 KiB" },
    { n: 9.94 * 1024, want: "9.9 KiB" },
    { n: 9.96 * 1024, want: "10 KiB" },
    { n: 1024 * 1024 - 1, want: "1.0 MiB" },
    { n: 98 * 1024 ** 2, want: "98 MiB" },
    { n: 80 * 1024 ** 3, want: "80 GiB" },
    { n: 2 ** 53, want: "8.0 PiB" },
    { n: 2 ** 70, want: "1048576 PiB" },
    { n: -1536, want: "-1.5 KiB" },
  ])("$n → $want", ({ n, want }) => {
    expect(formatBytes(n)).toBe(want);
  });

  test("never 1024 of a unit that has a next one", () => {
    fc.assert(
      fc.property(fc.nat({ max: Number.MAX_SAFE_INTEGER }), (n) => {
        expect(formatBytes(n)).not.toMatch(/^1024 /);
      }),
    );
  });
});

describe("durations", () => {
  test.each([
    { ms: 0, want: "0ms" },
    { ms: 250, want: "250ms" },
    { ms: 999.4, want: "999ms" },
    { ms: 999.6, want: "1s" },
    { ms: 1500, want: "1s" },
    { ms: 5 * SECOND, want: "5s" },
    { ms: 59_999.7, want: "1m" },
    { ms: 90 * SECOND, want: "1m30s" },
    { ms: HOUR, want: "1h" },
    { ms: 2 * HOUR + 5 * SECOND, want: "2h5s" },
    { ms: DAY + HOUR + MINUTE + SECOND, want: "1d1h1m1s" },
    { ms: 400 * DAY, want: "400d" },
  ])("$ms ms → $want", ({ ms, want }) => {
    expect(formatDuration(ms)).toBe(want);
  });

  test("never empty", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e15, noNaN: true }), (ms) => {
        expect(formatDuration(ms)).not.toBe("");
      }),
    );
  });
});

describe("ages", () => {
  test.each([
    { ms: -5 * SECOND, want: "0s" },
    { ms: 0, want: "0s" },
    { ms: 119 * SECOND, want: "119s" },
    { ms: 2 * MINUTE, want: "2m" },
    { ms: 119 * MINUTE, want: "119m" },
    { ms: 2 * HOUR, want: "2h" },
    { ms: 47 * HOUR, want: "47h" },
    { ms: 2 * DAY, want: "2d" },
    { ms: 400 * DAY, want: "400d" },
  ])("$ms ms → $want", ({ ms, want }) => {
    expect(formatAge(ms)).toBe(want);
  });
});
