import fc from "fast-check";
import { expect, test } from "vitest";
import { ByteText } from "./byte-text.ts";

/** Of every byte, and pieces that end at, before and behind the end of a page. */
const piece = fc.oneof(
  fc.string({ unit: fc.nat({ max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 300 }),
  fc.constantFrom(1, 4_095, 4_096, 4_097, 9_000).map((length) => "é".repeat(length)),
);

test("what was pushed is there, in order", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
      const text = new ByteText();
      for (const each of pieces) text.push(each);
      expect(text.toString()).toBe(pieces.join(""));
      expect(text).toHaveLength(pieces.join("").length);
      expect(Buffer.concat(text.pieces()).toString("latin1")).toBe(pieces.join(""));
      text.clear();
    }),
  );
});

test("of its end so much stays as is asked for, and less than a page more", () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.nat({ max: 10_000 }), (pieces, bytes) => {
      const text = new ByteText();
      for (const each of pieces) {
        text.push(each);
        text.keepLast(bytes);
      }
      const whole = pieces.join("");
      expect(whole.endsWith(text.toString())).toBe(true);
      expect(text.length).toBeGreaterThanOrEqual(Math.min(bytes, whole.length));
      expect(text.length).toBeLessThan(bytes + 4_096);
      text.clear();
    }),
  );
});

test("its pages are another's when it was cleared, and no more its own", () => {
  const one = new ByteText();
  one.push("a".repeat(5_000));
  one.clear();
  const other = new ByteText();
  other.push("b".repeat(5_000));
  expect(one.toString()).toBe("");
  one.push("c");
  expect([one.toString(), other.toString()]).toEqual(["c", "b".repeat(5_000)]);
});
