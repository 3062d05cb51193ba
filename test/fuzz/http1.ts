import { difference } from "../fakes/http1-difference.ts";
import { HEADER_BYTES, NodeReader, readByOwn } from "../fakes/http1-readers.ts";
import { STRICTER } from "../fakes/http1-stricter.ts";
import type { Chance } from "./chance.ts";
import { mutatedBytes } from "./mutate.ts";
import type { OpenTarget, Target } from "./target.ts";

const METHODS = ["GET", "POST", "HEAD", "OPTIONS", "PUT", "M-SEARCH", "QUERY"];
const ODD_METHODS = ["", "get", "CONNECT", "GETT", "G\0T", "POST\t", " GET", "SOURCE", "DESCRIBE"];
const TARGETS = ["/", "/v1/chat/completions?x=1", "*", "http://a.example:80/b?c", "https://[::1]/", "/a#b", "/%00"];
const ODD_TARGETS = [
  "",
  "a",
  "//",
  "/\u00e9",
  "/a b",
  "/\t",
  "http:/x",
  "http://",
  "ftp://a/",
  "a:1",
  "?",
  "#",
  "/\x7f",
  "/a#b#c",
  "http://a@b/",
  "http://a?b",
  "h://x",
];
const ODD_VERSIONS = [
  "HTTP/1.0",
  "HTTP/1.0",
  "HTTP/2.0",
  "HTTP/0.9",
  "HTTP/1.10",
  "http/1.1",
  "HTTP/1.",
  "HTTP/1.1 ",
  "",
  "HTTP/01.1",
];
const FIELDS = [
  ["Host: y", "Accept: */*", "X-Request-Id: a", "x-request-id:b", "Authorization: Bearer x", "authorization: y"],
  [
    "Cookie: a=b",
    "cookie: c",
    "Content-Type: application/json",
    "content-type:\ttext/plain\t",
    "X-Empty:",
    "Origin: null",
  ],
  [
    "X-Latin: \u00e9\u00ff",
    "Connection: keep-alive",
    "Connection: close",
    "connection: x, Keep-Alive",
    "Keep-Alive: timeout=5",
  ],
  ["Expect: 100-continue", "expect: x", "TE: trailers", "Content-Encoding: gzip", "__proto__: a", "constructor: b"],
].flat();
const ODD_FIELDS = [
  [
    "X : y",
    " X: y",
    "X: y\r\n z",
    "X: y\r\n\tz",
    "X y",
    ": y",
    "X\t: y",
    "X: a\0b",
    "X: a\x7fb",
    "X\u00e9: y",
    "X: a\rb",
  ],
  [
    "X: a\nY: b",
    "X: y\n",
    "X: y\r",
    "\r\nX: y",
    "Connection: upgrade\r\nUpgrade: h2c",
    "Connection: close, keep-alive",
  ],
  [
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: xchunked",
    "Transfer-Encoding: chunked, identity",
    "Transfer-Encoding:",
  ],
  [
    "Transfer-Encoding: gzip, chunked",
    "transfer-encoding: CHUNKED",
    "Transfer-Encoding: \tchunked ",
    "Transfer-Encoding: chunked,",
  ],
  [
    "Transfer-Encoding : chunked",
    "Transfer\u2010Encoding: chunked",
    "Transfer-Encoding: chun\0ked",
    "Transfer-Encoding: identity",
  ],
  [
    "Content-Length: 0",
    "Content-Length: 3",
    "Content-Length: +3",
    "Content-Length: -1",
    "Content-Length: 3, 3",
    "Content-Length: 0x3",
  ],
  [
    "Content-Length: 3 ",
    "Content-Length: \t3",
    "Content-Length:",
    "Content-Length: 3 3",
    "Content-Length: 18446744073709551619",
  ],
  [
    "Content-Length: 003",
    "Content-Length: 9007199254740993",
    "content-length: 3",
    "Content_Length: 3",
    "Content-Length: 3;",
  ],
  ["Host: y", "Host:", "Proxy-Connection: close", "Trailer: x", "Expect: 100-continue, x", "Upgrade: h2c"],
].flat();
const ODD_SIZES = [
  "",
  "-1",
  "+3",
  "0x3",
  "3 ",
  " 3",
  "3;",
  "3;a",
  "3;a=b;c",
  '3;a="b c"',
  '3;a="\\""',
  "3;=",
  "3;;",
  "3; a",
  "3\t",
  "G",
  "ffffffffffffffff",
  "10000000000000003",
  "0003",
  "3\r",
  "3;a\n",
];
const TRAILERS = [
  "",
  "",
  "X: y\r\n",
  "X: y\r\nZ: \r\n",
  "X : y\r\n",
  "X: y\n",
  "Content-Length: 3\r\n",
  "Connection: close\r\n",
  " X: y\r\n",
  "X: a\0\r\n",
  "Transfer-Encoding: chunked\r\n",
];
const LINE_ENDS = ["\n", "\r", "\r\r\n", "\n\n", "\r\n\r\n", ""];

const UPGRADE = /\nupgrade:/i;

const odd = (chance: Chance, usual: readonly string[], unusual: readonly string[]): string =>
  chance.pick(chance.is(0.06) ? unusual : usual);

function payload(chance: Chance): string {
  if (chance.is(0.1)) return "0\r\n\r\nGET /inner HTTP/1.1\r\nHost: z\r\n\r\n";
  return chance.bytes(chance.length(40)).toString("latin1");
}

function chunks(chance: Chance): string {
  let text = "";
  while (chance.is(0.6)) {
    const data = payload(chance);
    if (data.length === 0) continue;
    const size = chance.is(0.9) ? data.length.toString(16) : chance.pick(ODD_SIZES);
    text += `${size}${lineEnd(chance)}${data}${lineEnd(chance)}`;
  }
  return `${text}${chance.is(0.95) ? "0" : chance.pick(["00", "0;a=b", "", "-0", "0 "])}${lineEnd(chance)}${chance.pick(TRAILERS)}${lineEnd(chance)}`;
}

const lineEnd = (chance: Chance): string => (chance.is(0.004) ? chance.pick(LINE_ENDS) : "\r\n");

function request(chance: Chance): string {
  const body = payload(chance);
  const framing = chance.pick(["none", "length", "length", "chunked", "chunked", "odd"] as const);
  const head = [firstLine(chance), ...shuffled(chance, fields(chance, framing, body.length))];
  const text = head.map((line) => line + lineEnd(chance)).join("") + lineEnd(chance);
  if (framing === "length") return text + body;
  return framing === "chunked" || chance.is(0.3) ? text + chunks(chance) : text;
}

function firstLine(chance: Chance): string {
  const version = chance.is(0.93) ? "HTTP/1.1" : chance.pick(ODD_VERSIONS);
  const space = (): string => (chance.is(0.005) ? chance.pick(["  ", "\t", ""]) : " ");
  return `${odd(chance, METHODS, ODD_METHODS)}${space()}${odd(chance, TARGETS, ODD_TARGETS)}${space()}${version}`;
}

function fields(chance: Chance, framing: "none" | "length" | "chunked" | "odd", length: number): readonly string[] {
  const all = chance.is(0.97) ? ["Host: x"] : [];
  while (chance.is(0.6)) all.push(odd(chance, FIELDS, ODD_FIELDS));
  if (framing === "length") all.push(`Content-Length: ${String(length)}`);
  else if (framing === "chunked") all.push(chance.pick(["Transfer-Encoding: chunked", "transfer-encoding: Chunked"]));
  else if (framing === "odd") all.push(chance.pick(ODD_FIELDS));
  if (chance.is(0.02)) all.push(`X-Long: ${"x".repeat(chance.below(HEADER_BYTES * 2))}`);
  return all;
}

function shuffled(chance: Chance, list: readonly string[]): readonly string[] {
  return list
    .map((text) => ({ text, at: chance.random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ text }) => text);
}

/** What a client sends on one connection, in the pieces in which it is read. */
export function http1Connection(chance: Chance): readonly Buffer[] {
  let text = chance.is(0.03) ? chance.pick(["\r\n", "\r\n\r\n", "\n", "\r"]) : "";
  do text += request(chance);
  while (chance.is(0.4));
  const whole = Buffer.from(text, "latin1");
  const bytes = chance.is(0.3) ? mutatedBytes(chance, whole) : whole;
  const places = Array.from({ length: chance.is(0.5) ? 0 : chance.below(6) }, () => chance.below(bytes.length + 1));
  const edges = [0, ...places.toSorted((a, b) => a - b), bytes.length];
  return edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
}

/** Reads a connection both ways. Rejects when they differ in a way that is none of those that are known; answers that way otherwise. */
export async function compareReaders(node: NodeReader, pieces: readonly Buffer[]): Promise<string | undefined> {
  const [own, other] = [await readByOwn(pieces), await node.read(pieces)];
  // Answered for its Expect before anybody sees that it asked for another protocol: `difference` says what that means to Node.
  if (own.answers.includes("HTTP/1.1 417 ") && UPGRADE.test(Buffer.concat(pieces).toString("latin1"))) return undefined;
  const found = difference(own, other);
  const shown = (): string => JSON.stringify(pieces.map((piece) => piece.toString("latin1")));
  if (found.kind === "fault") throw new Error(`${found.what}\n${shown()}`);
  if (found.kind === "none") return undefined;
  if (!Object.hasOwn(STRICTER, found.why)) throw new Error(`Node takes what is refused: ${found.why}\n${shown()}`);
  return found.why;
}

class ReaderDoor implements OpenTarget {
  readonly #node = new NodeReader();

  async once(chance: Chance): Promise<void> {
    await compareReaders(this.#node, http1Connection(chance));
  }

  check(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** HTTP/1.1 as the router reads it itself, beside Node's parser: it may refuse more, and never take more. */
export const http1Target: Target = { name: "HTTP/1.1", atOnce: 1, open: () => Promise.resolve(new ReaderDoor()) };
