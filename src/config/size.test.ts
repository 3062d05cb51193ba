import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytes } from "../core/ids.ts";
import { parseSize, writeSize } from "./size.ts";

describe("sizes", () => {
  test.each([
    ["80GiB", 80 * 2 ** 30],
    ["500MB", 500_000_000],
    ["1.5GiB", 1.5 * 2 ** 30],
    ["7B", 7],
    ["2TiB", 2 * 2 ** 40],
  ])("%s", (text, want) => {
    expect(parseSize(text)).toEqual({ ok: true, value: want });
  });

  test.each([
    ["80 GiB", "did you mean 80GiB?"],
    ["80gib", "did you mean 80GiB?"],
    ["80G", "did you mean 80GiB?"],
    ["80Gi", "did you mean 80GiB?"],
    ["80gb", "did you mean 80GB?"],
    ["80", "did you mean 80GiB or 80B?"],
    ["-1GiB", "80GiB or 500MB"],
    ["0.3B", "80GiB or 500MB"],
    ["9999999999TiB", "80GiB or 500MB"],
    ["lots", "80GiB or 500MB"],
  ])("%j is refused with what was meant", (text, want) => {
    const parsed = parseSize(text);
    expect(parsed.ok ? parsed.value : parsed.error).toContain(want);
  });

  test("what is written is read back", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (n) => {
        expect(parseSize(writeSize(bytes(n)))).toEqual({ ok: true, value: n });
      }),
    );
  });
});
