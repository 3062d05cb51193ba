import { describe, expect, test } from "vitest";
import { ERRORS, LlmgwError, messageOf } from "./errors.ts";

describe("the table", () => {
  test.each(Object.entries(ERRORS))("%s", (name, { http, type, exit, doc }) => {
    expect(name).toMatch(/^[A-Z][A-Z_]*$/);
    expect(http).toBeGreaterThanOrEqual(400);
    expect(http).toBeLessThan(600);
    // The one type of OpenAI's that does not end so; clients know it by this word.
    expect(type).toMatch(/^(\w+_error|insufficient_quota)$/);
    expect([1, 2, 3, 4, 5]).toContain(exit);
    expect(doc).toMatch(/^[A-Z].*\.$/);
  });
});

const holdsItself: { self?: unknown } = {};
holdsItself.self = holdsItself;

describe("from", () => {
  test("an error of ours stays the same object", () => {
    const ours = new LlmgwError("NOT_FOUND", "no profile named x");
    expect(LlmgwError.from(ours)).toBe(ours);
  });

  test("an error of ours that was wrapped keeps its cause", () => {
    const cause = new Error("ENOSPC");
    const ours = new LlmgwError("FAILED", "the disk is full", { cause });
    expect(LlmgwError.from(ours).cause).toBe(cause);
  });

  test.each([
    { name: "an Error", thrown: new TypeError("x is not a function"), message: "x is not a function" },
    { name: "a string", thrown: "broken", message: "broken" },
    { name: "undefined", thrown: undefined, message: "undefined" },
    { name: "null", thrown: null, message: "null" },
    { name: "an object", thrown: { code: 7 }, message: '{"code":7}' },
    { name: "an object without a prototype", thrown: Object.create(null) as object, message: "{}" },
    { name: "an object that holds itself", thrown: holdsItself, message: "[object Object]" },
    { name: "a symbol", thrown: Symbol("odd"), message: "Symbol(odd)" },
  ])("$name becomes INTERNAL, with the cause kept", ({ thrown, message }) => {
    const error = LlmgwError.from(thrown);
    expect(error).toBeInstanceOf(Error);
    expect(error.name).toBe("LlmgwError");
    expect([error.code, error.message, error.cause]).toEqual(["INTERNAL", message, thrown]);
  });
});

describe("the message of a caught value is never empty", () => {
  test.each([
    { name: "an error", thrown: new Error("why"), want: "why" },
    { name: "a number", thrown: 7, want: "7" },
    { name: "an error without a message", thrown: new TypeError(), want: "TypeError" },
    {
      name: "every address of a host refused",
      thrown: new AggregateError([
        new Error("connect ECONNREFUSED ::1:7443"),
        new Error("connect ECONNREFUSED 127.0.0.1:7443"),
      ]),
      want: "connect ECONNREFUSED ::1:7443; connect ECONNREFUSED 127.0.0.1:7443",
    },
    { name: "no errors together", thrown: new AggregateError([]), want: "AggregateError" },
  ])("$name", ({ thrown, want }) => {
    expect(messageOf(thrown)).toBe(want);
  });
});
