import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findHead } from "./header-lines.ts";

const END = "\r\n\r\n";

describe("a head's end", () => {
  const bytes = fc.string({ unit: fc.constantFrom("\r", "\n", "a", "\r\n"), maxLength: 40 });

  test("is where it is in the text, whatever is before it and behind, and however much was seen before", () => {
    fc.assert(
      fc.property(bytes, fc.nat({ max: 10 }), (text, from) => {
        const end = text.indexOf(END, from);
        const wanted = end === -1 ? undefined : { text: text.slice(from, end + 2), length: end - from };
        expect(findHead(Buffer.from(text), from)).toEqual(wanted);
        const noEndUpTo = end === -1 ? text.length : Math.min(text.length, end + END.length - 1);
        for (let seen = from; seen <= noEndUpTo; seen++)
          expect(findHead(Buffer.from(text), from, seen)).toEqual(wanted);
      }),
    );
  });

  test("is found in a head of any length", () => {
    for (const length of [0, 1, 2, 3, 4_094, 4_096, 65_536]) {
      const text = `${"a".repeat(length)}${END}body`;
      expect(findHead(Buffer.from(text), 0)).toEqual({ text: text.slice(0, length + 2), length });
    }
  });
});
