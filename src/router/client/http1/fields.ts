import { type ClientHeaders, READ_HEADERS, type ReadHeader } from "../client-headers.ts";
import { readHeaderLines } from "../../header-lines.ts";

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

interface Spelling {
  readonly text: string;
  readonly as: Known;
}

const LONGEST = Math.max(...[...KNOWN.keys()].map((name) => name.length));
/** The spellings that nearly all clients use, by their length: most lengths have none, and none has more than two names. */
const SPELLINGS: readonly (readonly Spelling[])[] = Array.from({ length: LONGEST + 1 }, (_, length) =>
  [...KNOWN].flatMap(([name, as]) =>
    name.length === length
      ? [
          { text: name, as },
          { text: capitalised(name), as },
        ]
      : [],
  ),
);

function known(name: string): Known | undefined {
  const spellings = SPELLINGS[name.length];
  if (spellings === undefined || spellings.length === 0) return undefined;
  for (const { text, as } of spellings) if (text === name) return as;
  return KNOWN.get(name.toLowerCase());
}

/** The header lines of a request, or what is wrong with them. */
export class Fields {
  readonly headers = new ReadFields();
  /** Names as they were sent and values, in turn. */
  raw: readonly string[] = [];
  host: string | undefined;
  connection: string | undefined;
  /** In words for a log; undefined: they are as they should be. */
  problem: string | undefined;

  /** Reads the lines between two places of a text, each with its CRLF. */
  read(text: string, from: number, to: number): void {
    const lines = readHeaderLines(text, from, to);
    if (!lines.ok) {
      this.problem = lines.error;
      return;
    }
    this.raw = lines.value;
    for (let index = 0; index < this.raw.length; index += 2)
      this.#add(this.raw[index] ?? "", this.raw[index + 1] ?? "");
  }

  #add(name: string, value: string): void {
    const as = known(name);
    if (as === undefined) return;
    const before = this.#valueOf(as);
    if (before === undefined) this.#set(as, value);
    else if (ONCE.has(as)) this.problem ??= `it names ${as} twice`;
    else if (!FIRST.has(as)) this.#set(as, `${before}, ${value}`);
  }

  #valueOf(name: Known): string | undefined {
    return name === "host" || name === "connection" ? this[name] : this.headers[name];
  }

  #set(name: Known, value: string): void {
    if (name === "host" || name === "connection") this[name] = value;
    else this.headers[name] = value;
  }
}
