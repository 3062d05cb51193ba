import { expect, test } from "vitest";
import { assertNever, err, ok } from "./result.ts";

test("a result is one or the other", () => {
  expect([ok(1), err("no")]).toEqual([
    { ok: true, value: 1 },
    { ok: false, error: "no" },
  ]);
});

test("a case that the types rule out and that comes anyway is named", () => {
  expect(() => assertNever({ kind: "odd" } as never)).toThrow('unhandled case: {"kind":"odd"}');
});
