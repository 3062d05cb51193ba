import type { Millis } from "../../core/ids.ts";
import { dayOf, type UsageRecord } from "../../core/usage.ts";
import { lineOf } from "../../wire/usage-line.ts";
import { ByteText } from "../byte-text.ts";
import type { Entry } from "./segment.ts";

/** Records in one: some 200 KB. */
const MOST = 500;
/** In a message. Each takes a round trip, and a busy control plane's may be long. */
const MOST_IN_MESSAGE = 2_000;

/** What records took together. */
export interface Spent {
  readonly keyId: string;
  tokens: number;
  /** When one of them ended, on the day of all. */
  readonly endedAt: Millis;
}

type Facts = Pick<Entry, "number" | "keyId" | "spent" | "endedAt">;

/**
 * Records in a row. A loaded router has thousands on their way: as bytes and one sum a key they cost the collector nothing,
 * where an object and a text for each would be moved about until they are counted, and a text for all would fill the heap.
 */
export class Chunk {
  readonly first: number;
  last: number;
  /** With an end to each. */
  readonly #lines = new ByteText();
  #size = 0;
  readonly #day: number;
  readonly #spent = new Map<string, Spent>();

  constructor({ number, endedAt }: Pick<Facts, "number" | "endedAt">) {
    this.first = number;
    this.last = number;
    this.#day = dayOf(endedAt);
  }

  get size(): number {
    return this.#size;
  }

  /** All in a day, because budgets are by days. */
  takes({ endedAt }: Pick<Facts, "endedAt">): boolean {
    return this.#size < MOST && dayOf(endedAt) === this.#day;
  }

  push({ number, keyId, spent, endedAt }: Facts, line: string): void {
    this.last = number;
    this.#size += 1;
    this.#lines.push(line);
    this.#lines.push("\n");
    const before = this.#spent.get(keyId);
    if (before === undefined) this.#spent.set(keyId, { keyId, tokens: spent, endedAt });
    else before.tokens += spent;
  }

  /** Its lines, each with its end. They change once it is released. */
  pieces(): readonly Buffer[] {
    return this.#lines.pieces();
  }

  /** Nothing more will be asked of its lines. */
  release(): void {
    this.#lines.clear();
  }

  spent(): Iterable<Spent> {
    return this.#spent.values();
  }
}

/** Adds a record at the end of what is already there. */
export function pushRecord(chunks: Chunk[], record: UsageRecord): void {
  const { number, keyId, endedAt, tokens } = record;
  pushLine(chunks, { number, keyId, endedAt, spent: tokens.prompt + tokens.completion }, lineOf(record));
}

function pushLine(chunks: Chunk[], facts: Facts, line: string): void {
  let last = chunks.at(-1);
  if (last?.takes(facts) !== true) {
    last = new Chunk(facts);
    chunks.push(last);
  }
  last.push(facts, line);
}

export function chunksOf(entries: readonly Entry[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (const entry of entries) pushLine(chunks, entry, entry.line);
  return chunks;
}

/** Their lines, each with its end. */
export const bytesOf = (chunks: readonly Chunk[]): Buffer => Buffer.concat(chunks.flatMap((chunk) => chunk.pieces()));

export const recordsIn = (chunks: readonly Chunk[]): number => chunks.reduce((sum, { size }) => sum + size, 0);

/** The first of them, as many as make one message: at most about 800 KB. */
export function batchOf(chunks: readonly Chunk[]): readonly Chunk[] {
  let size = 0;
  const end = chunks.findIndex((chunk) => (size += chunk.size) > MOST_IN_MESSAGE);
  return chunks.slice(0, end === -1 ? chunks.length : Math.max(1, end));
}
