import fc from "fast-check";
import { expect, test } from "vitest";
import { quoted } from "./json-text.ts";

test.each(["", "plain, with blanks", 'a "quote"', "back\\slash", "line\nend", "\u007f", "é", "\ud800", "\u2028"])(
  "%j is quoted as JSON has it",
  (text) => {
    expect(quoted(text)).toBe(JSON.stringify(text));
  },
);

test("so is every other text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(quoted(text)).toBe(JSON.stringify(text));
    }),
  );
});
