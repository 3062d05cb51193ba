import { describe, expect, test } from "vitest";
import { HEADER_BYTES, NodeReader, readByOwn } from "../fakes/http1-readers.ts";
import { STRICTER } from "../fakes/http1-stricter.ts";
import { Chance } from "../fuzz/chance.ts";
import { compareReaders, http1Connection } from "../fuzz/http1.ts";

// The router's own reader of HTTP/1.1 beside llhttp, as Node's server has it. It may refuse more, in the ways that are listed, and
// must never take what Node does not take, nor take it for something else: a request hidden in another is made of such differences.

const node = new NodeReader();

const post = (...lines: readonly string[]): string => `POST /a HTTP/1.1\r\nHost: x\r\n${lines.join("\r\n")}\r\n\r\n`;
const CHUNKED = "Transfer-Encoding: chunked";
/** What an attacker would have read as a request of its own. */
const INNER = "GET /inner HTTP/1.1\r\nHost: x\r\n\r\n";

describe("a request hidden in another", () => {
  test.each<[name: string, bytes: string]>([
    ["a length and chunks", `${post("Content-Length: 6", CHUNKED)}0\r\n\r\n${INNER}`],
    ["chunks and a length", `${post(CHUNKED, "Content-Length: 4")}1e\r\n${INNER}\r\n0\r\n\r\n`],
    ["two lengths", `${post("Content-Length: 0", "Content-Length: 33")}${INNER}`],
    ["the same length twice", `${post("Content-Length: 3", "Content-Length: 3")}abc${INNER}`],
    ["lengths in a list", `${post("Content-Length: 3, 3")}abc${INNER}`],
    ["a length with a sign", `${post("Content-Length: +3")}abc${INNER}`],
    ["a negative length", `${post("Content-Length: -1")}${INNER}`],
    ["a length in hexadecimal", `${post("Content-Length: 0x3")}abc${INNER}`],
    ["a length with a space in it", `${post("Content-Length: 3 3")}abc${INNER}`],
    ["a length that overflows", `${post("Content-Length: 18446744073709551619")}abc${INNER}`],
    ["an empty length", `${post("Content-Length:")}${INNER}`],
    ["a coding that ends in chunked", `${post("Transfer-Encoding: xchunked")}0\r\n\r\n${INNER}`],
    ["another coding behind chunked", `${post("Transfer-Encoding: chunked, identity")}0\r\n\r\n${INNER}`],
    ["another coding before chunked", `${post("Transfer-Encoding: gzip, chunked")}0\r\n\r\n${INNER}`],
    ["a coding with a tab within", `${post("Transfer-Encoding: chun\tked")}0\r\n\r\n${INNER}`],
    ["a coding with a NUL", `${post("Transfer-Encoding: chunked\0")}0\r\n\r\n${INNER}`],
    ["a coding twice", `${post(CHUNKED, CHUNKED)}0\r\n\r\n${INNER}`],
    ["an empty coding", `${post("Transfer-Encoding:")}${INNER}`],
    ["a coding in HTTP/1.0", `POST /a HTTP/1.0\r\nConnection: keep-alive\r\n${CHUNKED}\r\n\r\n0\r\n\r\n${INNER}`],
    ["a space before a colon", `${post("Transfer-Encoding : chunked")}0\r\n\r\n${INNER}`],
    ["a tab before a colon", `${post("Content-Length\t: 3")}abc${INNER}`],
    ["a folded line", `${post("X: a", " Content-Length: 33")}${INNER}`],
    ["a folded coding", `${post("Transfer-Encoding:", " chunked")}0\r\n\r\n${INNER}`],
    ["a bare line feed", `${post("X: a\nContent-Length: 33")}${INNER}`],
    ["a bare carriage return", `${post("X: a\rContent-Length: 33")}${INNER}`],
    ["a head that ends in line feeds", `POST /a HTTP/1.1\nHost: x\n\n${INNER}`],
    ["a line without a colon", `${post("Content-Length")}${INNER}`],
    ["a header without a name", `${post(": 3")}${INNER}`],
    ["two hosts", `${post("Host: y")}${INNER}`],
    ["no host", `POST /a HTTP/1.1\r\n\r\n${INNER}`],
    ["a chunk size that overflows", `${post(CHUNKED)}10000000000000000\r\n\r\n${INNER}`],
    ["a chunk size with a sign", `${post(CHUNKED)}+0\r\n\r\n${INNER}`],
    ["a chunk size with 0x", `${post(CHUNKED)}0x0\r\n\r\n${INNER}`],
    ["a chunk size with a space", `${post(CHUNKED)}0 \r\n\r\n${INNER}`],
    ["a chunk that is longer than its size", `${post(CHUNKED)}2\r\nabcd\r\n0\r\n\r\n${INNER}`],
    ["a chunk's line with a line feed alone", `${post(CHUNKED)}0\n\n${INNER}`],
    ["an extension with a line feed", `${post(CHUNKED)}0;a\nb\r\n\r\n${INNER}`],
    ["a trailer with a line feed alone", `${post(CHUNKED)}0\r\nX: y\n\r\n${INNER}`],
    ["a trailer with a space before its colon", `${post(CHUNKED)}0\r\nX : y\r\n\r\n${INNER}`],
  ])("%s is refused, and what is hidden is no request", async (_name, bytes) => {
    const { requests, refused } = await readByOwn([Buffer.from(bytes, "latin1")]);
    expect(refused).not.toBeUndefined();
    expect(requests.filter(({ target, isWhole }) => target === "/inner" || isWhole)).toEqual([]);
    await compareReaders(node, [Buffer.from(bytes, "latin1")]);
  });

  test.each<[name: string, bytes: string, body: string]>([
    ["a request in a body", `${post(`Content-Length: ${String(INNER.length)}`)}${INNER}`, INNER],
    ["a request in a chunk", `${post(CHUNKED)}${INNER.length.toString(16)}\r\n${INNER}\r\n0\r\n\r\n`, INNER],
    ["the end of chunks in a chunk", `${post(CHUNKED)}5\r\n0\r\n\r\n\r\n0\r\n\r\n`, "0\r\n\r\n"],
    ["extensions and trailers", `${post(CHUNKED)}2;a;b=c;d="e f"\r\nok\r\n0;z\r\nX: y\r\nZ:\r\n\r\n`, "ok"],
    ["blanks around values", `${post("Content-Length: \t 2 \t")}ok`, "ok"],
    ["a coding in capitals", `${post("transfer-encoding: CHUNKED")}2\r\nok\r\n0\r\n\r\n`, "ok"],
    ["empty lines before it", `\r\n\r\n${post("Content-Length: 2")}ok`, "ok"],
  ])("%s is what it says", async (_name, bytes, body) => {
    const whole = Buffer.from(`${bytes}${INNER}`, "latin1");
    const { requests, refused } = await readByOwn([whole]);
    expect(refused).toBeUndefined();
    expect(requests).toMatchObject([
      { target: "/a", body, isWhole: true },
      { target: "/inner", body: "", isWhole: true },
    ]);
    expect(await compareReaders(node, [whole])).toBeUndefined();
  });
});

describe("what Node takes and is refused here", () => {
  const rows = Object.entries(STRICTER).flatMap(([why, all]) => all.map((bytes) => [why, bytes] as const));

  test.each(rows)("%s: %j", async (why, bytes) => {
    const whole = Buffer.from(bytes, "latin1");
    expect(await readByOwn([whole])).toMatchObject({ refused: why });
    const { requests, refused } = await node.read([whole]);
    // The connection ends with it, in the middle of a head where that says all.
    expect(requests.length > 0 || refused === "HPE_INVALID_EOF_STATE").toBe(true);
  });
});

test("a head is taken up to the limit, however it is cut", async () => {
  const fits = post(`X: ${"x".repeat(HEADER_BYTES - post("X: ").length - 2)}`);
  expect((await readByOwn([Buffer.from(fits)])).requests).toHaveLength(1);
  const bytewise = [...Buffer.from(fits)].map((byte) => Buffer.from([byte]));
  expect((await readByOwn(bytewise)).requests).toHaveLength(1);
});

const seed = Math.floor(Math.random() * 2 ** 31);

test("20,000 generated connections are read as Node reads them", { timeout: 60_000 }, async () => {
  for (let number = 0; number < 20_000; number++) {
    const found = compareReaders(node, http1Connection(new Chance(seed + number)));
    await expect(found, `of seed ${String(seed + number)}`).resolves.not.toBeNull();
  }
});
