import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalJson, fingerprint } from "./fingerprint.ts";

const canonical: readonly { name: string; value: unknown; want: string }[] = [
  { name: "sorts keys at every depth", value: { b: 1, a: { d: 2, c: 3 } }, want: '{"a":{"c":3,"d":2},"b":1}' },
  { name: "leaves lists in their order", value: [3, 1, { b: 1, a: 2 }], want: '[3,1,{"a":2,"b":1}]' },
  { name: "leaves undefined out", value: { a: undefined, b: null }, want: '{"b":null}' },
  { name: "takes a key named __proto__", value: JSON.parse('{"__proto__":1,"a":2}'), want: '{"__proto__":1,"a":2}' },
];

describe("canonical JSON", () => {
  test.each(canonical)("$name", ({ value, want }) => {
    expect(canonicalJson(value)).toBe(want);
  });
});

describe("fingerprint", () => {
  test("stays the same from release to release: replicas are compared by it", () => {
    expect(fingerprint({ model: "smollm2", args: ["-c", "2048"] })).toBe("8ee23bdc59350793");
  });

  test("is FNV-1a in 64 bits, whatever the text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        let hash = 0xcbf29ce484222325n;
        for (const char of JSON.stringify(text)) {
          hash = BigInt.asUintN(64, (hash ^ BigInt(char.codePointAt(0) ?? 0)) * 0x100000001b3n);
        }
        expect(fingerprint(text)).toBe(hash.toString(16).padStart(16, "0"));
      }),
    );
  });

  test("does not depend on the order in which a value was built", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const reversed = Object.fromEntries(Object.entries(value).toReversed());
        expect(fingerprint(reversed)).toBe(fingerprint(value));
      }),
    );
  });

  test("tells different values apart", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        fc.pre(canonicalJson(a) !== canonicalJson(b));
        expect(fingerprint(a)).not.toBe(fingerprint(b));
      }),
    );
  });

  test("is 16 hex digits", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(fingerprint(value)).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });
});
