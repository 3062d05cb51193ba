import { describe, expect, test } from "vitest";
import * as responseHead from "./response-head.ts";

const parseResponseHead = (text: string) => responseHead.parseResponseHead(`${text}\r\n`, text.length + 2);
const head = (...lines: readonly string[]): string => lines.join("\r\n");

describe("reads", () => {
  test.each([
    ["a length", head("HTTP/1.1 200 OK", "Content-Length: 5"), { kind: "length", bytes: 5 }, true],
    ["chunks", head("HTTP/1.1 200 OK", "transfer-encoding: Chunked"), { kind: "chunked" }, true],
    ["neither: until the engine closes", head("HTTP/1.1 200 OK"), { kind: "untilClose" }, false],
    ["no body at all", head("HTTP/1.1 204 No Content"), { kind: "none" }, true],
    ["no reason phrase", head("HTTP/1.1 200", "Content-Length: 0"), { kind: "length", bytes: 0 }, true],
    ["HTTP/1.0", head("HTTP/1.0 200 OK", "Content-Length: 0"), { kind: "length", bytes: 0 }, false],
    [
      "HTTP/1.0 that stays",
      head("HTTP/1.0 200 OK", "Content-Length: 0", "Connection: Keep-Alive"),
      { kind: "length", bytes: 0 },
      true,
    ],
    [
      "a connection that closes",
      head("HTTP/1.1 200 OK", "Content-Length: 0", "Connection: x, Close"),
      { kind: "length", bytes: 0 },
      false,
    ],
    [
      "the same length twice",
      head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 5"),
      { kind: "length", bytes: 5 },
      true,
    ],
  ])("%s", (_name, text, framing, keepAlive) => {
    expect(parseResponseHead(text)).toMatchObject({ ok: true, value: { kind: "final", head: { framing, keepAlive } } });
  });

  test("names in lower case, values without the space around them, in order", () => {
    const result = parseResponseHead(
      head("HTTP/1.1 500 Oh", "X-A:  1 ", "Keep-Alive: timeout=5, max=100", "x-a: 2", "X-Empty:", "Content-Length: 0"),
    );
    expect(result).toMatchObject({
      value: {
        head: {
          status: 500,
          keepAliveSeconds: 5,
          headers: ["x-a", "1", "keep-alive", "timeout=5, max=100", "x-a", "2", "x-empty", "", "content-length", "0"],
        },
      },
    });
  });

  test.each(["HTTP/1.1 100 Continue", "HTTP/1.1 103 Early Hints"])("%s is only on the way", (text) => {
    expect(parseResponseHead(text)).toEqual({ ok: true, value: { kind: "interim" } });
  });
});

describe("refuses", () => {
  test.each([
    ["something else", "SSH-2.0-OpenSSH_9.2", "status line"],
    ["HTTP/2", "HTTP/2 200 OK", "status line"],
    ["a status of two digits", "HTTP/1.1 20 OK", "status line"],
    ["a status that does not exist", "HTTP/1.1 999 Odd", "status line"],
    ["a bare line feed", "HTTP/1.1 200 OK\nContent-Length: 0", "status line"],
    ["a switch of protocols", "HTTP/1.1 101 Switching", "protocol"],
    ["a folded line", head("HTTP/1.1 200 OK", "X: 1", " 2"), "malformed"],
    ["a space before the colon", head("HTTP/1.1 200 OK", "X : 1"), "malformed"],
    ["a line without a colon", head("HTTP/1.1 200 OK", "X"), "malformed"],
    ["a NUL in a value", head("HTTP/1.1 200 OK", "X: \0"), "malformed"],
    ["a bare carriage return", head("HTTP/1.1 200 OK", "X: 1\r2"), "malformed"],
    ["two lengths", head("HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6"), "two lengths"],
    [
      "a length and chunks",
      head("HTTP/1.1 200 OK", "Content-Length: 5", "Transfer-Encoding: chunked"),
      "and is chunked",
    ],
    ["a negative length", head("HTTP/1.1 200 OK", "Content-Length: -5"), "no number"],
    ["a hexadecimal length", head("HTTP/1.1 200 OK", "Content-Length: 0x5"), "no number"],
    ["a list of lengths", head("HTTP/1.1 200 OK", "Content-Length: 5, 5"), "no number"],
    ["gzip as transfer coding", head("HTTP/1.1 200 OK", "Transfer-Encoding: gzip, chunked"), "not chunked"],
    [
      "chunked twice",
      head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"),
      "not chunked",
    ],
  ])("%s", (_name, text, want) => {
    const result = parseResponseHead(text);
    expect(result.ok ? "" : result.error).toContain(want);
  });
});
