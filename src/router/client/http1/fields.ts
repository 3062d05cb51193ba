import { type ClientHeaders, READ_HEADERS, type ReadHeader } from "../client-headers.ts";
import { COLON, CR, isBlank, LF, TOKEN, VALUE } from "./characters.ts";

/** Every request has all of them, so that every request's headers have one shape. */
class ReadFields implements ClientHeaders, Record<ReadHeader, string | undefined> {
  "access-control-request-headers": string | undefined = undefined;
  "anthropic-version": string | undefined = undefined;
  authorization: string | undefined = undefined;
  "content-encoding": string | undefined = undefined;
  "content-length": string | undefined = undefined;
  "content-type": string | undefined = undefined;
  expect: string | undefined = undefined;
  origin: string | undefined = undefined;
  traceparent: string | undefined = undefined;
  "transfer-encoding": string | undefined = undefined;
  "x-api-key": string | undefined = undefined;
  "x-claude-code-session-id": string | undefined = undefined;
  "x-client-request-id": string | undefined = undefined;
  "x-llmgw-via": string | undefined = undefined;
  "x-request-id": string | undefined = undefined;
  "x-stainless-retry-count": string | undefined = undefined;
}

/** What says where a message ends and what becomes of its connection, and may not be said twice. */
type Single = "content-length" | "transfer-encoding" | "host";
type Known = ReadHeader | "host" | "connection";

const ONCE: ReadonlySet<string> = new Set<Single>(["content-length", "transfer-encoding", "host"]);
/** Of these the first counts, as Node has it; of others all do. */
const FIRST: ReadonlySet<string> = new Set<Known>(["authorization", "content-type"]);

const KNOWN: ReadonlyMap<string, Known> = new Map<string, Known>([
  ...READ_HEADERS.map((name): [string, Known] => [name, name]),
  ["host", "host"],
  ["connection", "connection"],
  // What clients of proxies once sent in its place; Node's parser honours it.
  ["proxy-connection", "connection"],
]);
const capitalised = (name: string): string => name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
/** By the spellings that nearly all clients use. */
const BY_SPELLING: ReadonlyMap<string, Known> = new Map(
  [...KNOWN].flatMap(([name, as]): [string, Known][] => [
    [name, as],
    [capitalised(name), as],
  ]),
);
/** Most names have a length that none of the known has. */
const NAMES = [...KNOWN.keys()];
const LENGTHS = Uint8Array.from({ length: 64 }, (_, length) => (NAMES.some((name) => name.length === length) ? 1 : 0));

function known(name: string): Known | undefined {
  if (LENGTHS[name.length] !== 1) return undefined;
  return BY_SPELLING.get(name) ?? KNOWN.get(name.toLowerCase());
}

/** The header lines of a request, or what is wrong with them. */
export class Fields {
  readonly headers = new ReadFields();
  /** Names as they were sent and values, in turn. */
  readonly raw: string[] = [];
  host: string | undefined;
  connection: string | undefined;
  /** In words for a log; undefined: they are as they should be. */
  problem: string | undefined;

  /** Reads lines from `at` to the end of the text, each with its CRLF. Every line is checked to its last character. */
  read(text: string, at: number): void {
    let next = at;
    while (next < text.length && this.problem === undefined) next = this.#readLine(text, next);
  }

  #readLine(text: string, begin: number): number {
    let at = begin;
    while (TOKEN[text.charCodeAt(at)] === 1) at += 1;
    if (at === begin || text.charCodeAt(at) !== COLON) return this.#refuse("a header's name is malformed");
    const name = text.slice(begin, at);
    at += 1;
    while (isBlank(text.charCodeAt(at))) at += 1;
    const from = at;
    while (VALUE[text.charCodeAt(at)] === 1) at += 1;
    if (text.charCodeAt(at) !== CR || text.charCodeAt(at + 1) !== LF)
      return this.#refuse("a header's value is malformed");
    let to = at;
    while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
    this.#add(name, text.slice(from, to));
    return at + 2;
  }

  #add(name: string, value: string): void {
    this.raw.push(name, value);
    const as = known(name);
    if (as === undefined) return;
    const before = this.#valueOf(as);
    if (before === undefined) this.#set(as, value);
    else if (ONCE.has(as)) this.#refuse(`it names ${as} twice`);
    else if (!FIRST.has(as)) this.#set(as, `${before}, ${value}`);
  }

  #valueOf(name: Known): string | undefined {
    return name === "host" || name === "connection" ? this[name] : this.headers[name];
  }

  #set(name: Known, value: string): void {
    if (name === "host" || name === "connection") this[name] = value;
    else this.headers[name] = value;
  }

  #refuse(problem: string): number {
    this.problem = problem;
    return Infinity;
  }
}
