import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { parseDuration, writeDuration } from "./duration.ts";

describe("durations", () => {
  test.each([
    ["5s", 5000],
    ["250ms", 250],
    ["1m30s", 90_000],
    ["2h", 7_200_000],
    ["400d", 34_560_000_000],
    ["1.5h", 5_400_000],
    ["1.1s", 1100],
    ["0s", 0],
    ["1d2h3m4s5ms", 93_784_005],
  ])("%s", (text, want) => {
    expect(parseDuration(text)).toEqual({ ok: true, value: want });
  });

  test.each([
    ["5 seconds", "did you mean 5s?"],
    ["5 s", "did you mean 5s?"],
    ["5sec", "did you mean 5s?"],
    ["10 Minutes", "did you mean 10m?"],
    ["3 msecs", "did you mean 3ms?"],
    ["5S", "did you mean 5s?"],
    ["5", "did you mean 5s or 5ms?"],
    ["", "5s, 250ms or 1m30s"],
    ["-5s", "5s, 250ms or 1m30s"],
    ["30s1m", "5s, 250ms or 1m30s"],
    ["1s1s", "5s, 250ms or 1m30s"],
    ["0.5ms", "5s, 250ms or 1m30s"],
    ["99999999999999999999d", "5s, 250ms or 1m30s"],
    ["5s ", "did you mean 5s?"],
    ["１s", "5s, 250ms or 1m30s"],
  ])("%j is refused with what was meant", (text, want) => {
    const parsed = parseDuration(text);
    expect(parsed.ok ? parsed.value : parsed.error).toContain(want);
  });

  test("what is written is read back", () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 13 }), (n) => {
        expect(parseDuration(writeDuration(millis(n)))).toEqual({ ok: true, value: n });
      }),
    );
  });
});
