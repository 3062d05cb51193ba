import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isOfKind, readToken, writeToken } from "./access-token.ts";

const SECRET = "x7Kd2q".repeat(7);
const PIN = "A-_b".repeat(10) + "abc";

describe("a token as text", () => {
  test.each([
    { text: `llmgw-join-${SECRET}`, pin: undefined, join: true },
    { text: `llmgw-join-${SECRET}.${PIN}`, pin: PIN, join: true },
    { text: ` llmgw-user-${SECRET}.${PIN}\n`, pin: PIN, join: false },
  ])("$text", ({ text, pin, join }) => {
    const read = readToken(text);
    expect(read).toMatchObject({ pin, secret: text.trim().split(".")[0] });
    expect(read === undefined ? undefined : isOfKind(read, "join")).toBe(join);
  });

  test.each([
    "",
    "llmgw-join-",
    "llmgw-join-short",
    `llmgw-admin-${SECRET}`,
    `sk-llmgw-${SECRET}`,
    `llmgw-join-${SECRET}.`,
    `llmgw-join-${SECRET}.${PIN}x`,
    `llmgw-join-${SECRET}.${PIN}.${PIN}`,
    `llmgw-join-${SECRET} ${PIN}`,
  ])("%j is none", (text) => {
    expect(readToken(text)).toBeUndefined();
  });

  test("what is written is read back", () => {
    const tokens = fc.record({
      secret: fc.stringMatching(/^llmgw-(join|user)-[0-9A-Za-z]{20,60}$/),
      pin: fc.option(fc.stringMatching(/^[0-9A-Za-z_-]{43}$/), { nil: undefined }),
    });
    fc.assert(
      fc.property(tokens, (token) => {
        expect(readToken(writeToken(token))).toEqual(token);
      }),
    );
  });

  test("any text is read without a throw", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        readToken(text);
      }),
    );
  });
});
