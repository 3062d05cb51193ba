import { describe, expect, test } from "vitest";
import { millis } from "../../../core/ids.ts";
import type { Clock } from "../../../platform/clock.ts";
import { AnswerHeads } from "./answer-head.ts";

let now = millis(0);
const clock: Clock = { now: () => now, monotonic: () => millis(0), after: () => () => undefined };
const heads = new AnswerHeads(clock, 75);
const OF = { isHttp11: true, isHead: false, keepsAlive: true };

test("a head is the status, the headers, the date, and what becomes of the connection", () => {
  now = millis(Date.UTC(2026, 10, 30, 9, 5, 7, 999));
  expect(heads.head(200, ["content-type", "a/b", "content-length", "2"], OF)).toEqual({
    text:
      "HTTP/1.1 200 OK\r\ncontent-type: a/b\r\ncontent-length: 2\r\nDate: Mon, 30 Nov 2026 09:05:07 GMT\r\n" +
      "Connection: keep-alive\r\nKeep-Alive: timeout=75\r\n\r\n",
    body: "plain",
    isLast: false,
  });
});

test("the date goes on with the seconds", () => {
  now = millis(Date.UTC(2026, 10, 30, 9, 5, 8));
  expect(heads.head(204, [], OF).text).toContain("Date: Mon, 30 Nov 2026 09:05:08 GMT\r\n");
});

describe("how the body is told", () => {
  const length = ["content-length", "2"];

  test.each([
    ["with a length", 200, length, OF, { body: "plain", isLast: false }],
    ["without one in chunks", 200, [], OF, { body: "chunked", isLast: false }],
    ["without one in HTTP/1.0 by the close", 200, [], { ...OF, isHttp11: false }, { body: "plain", isLast: true }],
    ["with a length in HTTP/1.0", 200, length, { ...OF, isHttp11: false }, { body: "plain", isLast: false }],
    ["not at all to HEAD", 200, length, { ...OF, isHead: true }, { body: "none", isLast: false }],
    ["not at all to HEAD without a length", 200, [], { ...OF, isHead: true }, { body: "none", isLast: false }],
    ["not at all with 204", 204, [], OF, { body: "none", isLast: false }],
    ["not at all with 304", 304, [], OF, { body: "none", isLast: false }],
    ["with a length, and is the last", 200, length, { ...OF, keepsAlive: false }, { body: "plain", isLast: true }],
    ["in chunks, and says that it is the last", 413, ["connection", "close"], OF, { body: "chunked", isLast: true }],
  ])("%s", (_name, status, headers, of, want) => {
    const { text, ...rest } = heads.head(status, headers, of);
    expect(rest).toEqual(want);
    expect(text.match(/^transfer-encoding: chunked\r$/gim)?.length ?? 0).toBe(want.body === "chunked" ? 1 : 0);
    expect(text.match(/^connection: .*$/gim)).toEqual([
      want.isLast ? expect.stringMatching(/close/) : "Connection: keep-alive",
    ]);
  });
});

test.each(["a\r\nx-forged: 1", "a\nb", "a\0b", "\u010a", "a\x7f"])(
  "a value of %j can write no line: it is left out",
  (value) => {
    const { text } = heads.head(200, ["x-a", value, "x-b", "\u00e9"], OF);
    expect(text).not.toMatch(/x-a|forged/);
    expect(text).toContain("x-b: \u00e9\r\n");
  },
);
