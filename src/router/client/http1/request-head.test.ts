import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytes } from "../../../core/ids.ts";
import { readHead } from "./head-bytes.ts";
import * as requestHead from "./request-head.ts";

const parseRequestHead = (text: string) => requestHead.parseRequestHead(text, text.length);

const head = (...lines: readonly string[]): string =>
  `GET /a?b HTTP/1.1\r\nHost: x\r\n${lines.map((line) => `${line}\r\n`).join("")}`;

function parsed(text: string) {
  const result = parseRequestHead(text);
  if (!result.ok) throw new Error(result.error);
  return result.value;
}

test("names stay as they were sent, values lose the blanks around them, and all are in their order", () => {
  const { method, target, rawHeaders } = parsed(head("X-A:1", "x-a: \t 2 3\t ", "X-Empty:", "X-Latin: \u00e9"));
  expect([method, target]).toEqual(["GET", "/a?b"]);
  expect(rawHeaders).toEqual(["Host", "x", "X-A", "1", "x-a", "2 3", "X-Empty", "", "X-Latin", "\u00e9"]);
});

describe("what the router reads itself", () => {
  test.each([
    ["in any spelling", ["X-API-key: k"], { "x-api-key": "k" }],
    ["twice, both count", ["Origin: a", "origin: b"], { origin: "a, b" }],
    ["twice, the first counts", ["Authorization: a", "authorization: b"], { authorization: "a" }],
    ["type, the first counts", ["Content-Type: a", "Content-Type: b"], { "content-type": "a" }],
  ])("%s", (_name, lines, want) => {
    expect(parsed(head(...lines)).headers).toMatchObject(want);
  });

  test("a name out of an object is a name like others", () => {
    const { headers, rawHeaders } = parsed(head("__proto__: a", "constructor: b"));
    expect(rawHeaders.slice(2)).toEqual(["__proto__", "a", "constructor", "b"]);
    expect(Object.values(headers).filter((value) => value !== undefined)).toEqual([]);
  });
});

describe("how it goes on", () => {
  test.each([
    ["HTTP/1.1", [], true],
    ["HTTP/1.1", ["Connection: close"], false],
    ["HTTP/1.1", ["Connection: x , CLOSE"], false],
    ["HTTP/1.1", ["Connection: closed"], true],
    ["HTTP/1.1", ["Connection: keep-alive", "connection: close"], false],
    ["HTTP/1.1", ["Proxy-Connection: close"], false],
    ["HTTP/1.0", [], false],
    ["HTTP/1.0", ["Connection: Keep-Alive"], true],
    ["HTTP/1.0", ["Connection: x, keep-alive"], true],
  ])("%s with %j: another request may follow: %s", (version, lines, want) => {
    expect(parsed(head(...lines).replace("HTTP/1.1", version)).keepsAlive).toBe(want);
  });

  test.each([
    ["HTTP/1.1", "100-continue", "continue"],
    ["HTTP/1.1", "100-Continue", "continue"],
    ["HTTP/1.1", "a miracle", "unknown"],
    ["HTTP/1.0", "100-continue", "nothing"],
  ])("%s expects %s: %s", (version, expectation, want) => {
    expect(parsed(head(`Expect: ${expectation}`).replace("HTTP/1.1", version)).expectation).toBe(want);
  });
});

describe("is refused", () => {
  test.each([
    ["POST / HTTP/1.1", "it names no host"],
    ["POST / HTTP/1.2\r\nHost: x", "its first line is no HTTP/1.1"],
    ["POST / http/1.1\r\nHost: x", "its first line is no HTTP/1.1"],
    ["POST /\r\nHost: x", "its first line is no HTTP/1.1"],
    ["POST\r\nHost: x", "its method is none"],
    ["post / HTTP/1.1\r\nHost: x", "its method is none"],
    ["POST a HTTP/1.1\r\nHost: x", "its target is malformed"],
    ["POST /\u00e9 HTTP/1.1\r\nHost: x", "its target is malformed"],
    ["POST  HTTP/1.1\r\nHost: x", "its target is malformed"],
    ["POST / HTTP/1.1\r\nHost : x", "a header's name is malformed"],
    ["POST / HTTP/1.1\r\nHost: x\r\n y", "a header's name is malformed"],
    ["POST / HTTP/1.1\r\nHost: x\ny", "a header's value is malformed"],
    ["POST / HTTP/1.1\r\nHost: x\0", "a header's value is malformed"],
    ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1", "it names content-length twice"],
    [
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked",
      "it states a length and is chunked",
    ],
    ["POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1e3", "its length is no number"],
    ["POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, x", "its transfer coding is not chunked"],
    ["POST / HTTP/1.0\r\nTransfer-Encoding: chunked", "it is chunked in HTTP/1.0"],
  ])("%j: %s", (text, want) => {
    expect(parseRequestHead(`${text}\r\n`)).toEqual({ ok: false, error: want });
  });
});

describe("bytes that are not all there", () => {
  const limit = bytes(1_000);
  const whole = Buffer.from(`${head("X: y")}\r\n`);

  test("are waited for wherever they are cut, and looked at once", () => {
    for (let end = 0; end < whole.length; end++) {
      for (const seen of [0, Math.max(0, end - 1)]) {
        expect(readHead(whole.subarray(0, end), { from: 0, seen, limit })).toEqual({ kind: "more" });
        expect(readHead(whole, { from: 0, seen: end, limit })).toMatchObject({ kind: "head", end: whole.length });
      }
    }
  });

  test.each([
    ["\x16\x03\x01", "a character is none that a head may hold"],
    ["GET / HTTP/1.1\n", "a character is none that a head may hold"],
    ["GET / HTTP/1.1\r\nX: a\0", "a character is none that a head may hold"],
    ["GET / HTTP/9.1\r\nHost", "its first line is no HTTP/1.1"],
    ["HELO x\r\n", "its method is none"],
  ])("%j is refused at once: %s", (text, detail) => {
    expect(readHead(Buffer.from(text, "latin1"), { from: 0, seen: 0, limit })).toMatchObject({
      kind: "refused",
      detail,
    });
  });

  test("are refused when there are more than the limit", () => {
    const long = Buffer.from(head(`X: ${"x".repeat(1_000)}`));
    expect(readHead(long, { from: 0, seen: 0, limit })).toMatchObject({ refusal: { code: "HEADERS_TOO_LARGE" } });
  });
});

test("no text makes it throw, and none is taken that is more than one line a header", () => {
  const piece = fc.constantFrom(
    "GET",
    " ",
    "/",
    "HTTP/1.1",
    "\r\n",
    "\n",
    "\r",
    ":",
    "Host: x",
    "a",
    "\0",
    "\u00ff",
    "\t",
    ",",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = `${pieces.join("")}\r\n`;
      const result = parseRequestHead(text);
      if (!result.ok) return;
      const lines = text.split("\r\n").length - 2;
      expect(result.value.rawHeaders).toHaveLength(2 * lines);
    }),
    { numRuns: 2_000 },
  );
});
