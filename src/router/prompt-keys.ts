import { crc32 } from "node:zlib";
import { hashText } from "../routing/hash.ts";
import { NO_PROMPT, type PromptKeys } from "../routing/prompt.ts";
import type { BodySpans, Span } from "./body-spans.ts";

/** From here on each doubling of a prompt's length has a key, so that texts without messages share beginnings too. */
const FIRST_STEP = 1_024;
/** A message tells its role in its first or its last field. */
const ROLE_WINDOW = 64;
const ROLES_BEFORE_TURNS = ['"system"', '"developer"'] as const;
/** Length is part of a key: two beginnings of one CRC are then still two. 32 and 20 bits are a whole number. */
const LENGTH_STEPS = 2 ** 20;

export interface PromptSource {
  readonly chunks: readonly Buffer[];
  readonly spans: BodySpans;
  /** What stands for a conversation by its client's word: a header's value, "" for none. */
  readonly session: string;
  /** Engines of different models share no cache. */
  readonly model: string;
}

/**
 * The keys of a prompt's beginnings: after its tools and its system prompt, after its first and its last messages, and at
 * each doubling. One pass over the bytes with the machine's own CRC, nothing is parsed.
 */
export function promptKeys(source: PromptSource): PromptKeys {
  const { spans, model } = source;
  const session = source.session === "" ? spans.cacheKey : source.session;
  const seed = hashText(model);
  const hint = session === "" ? undefined : hashText(`${model}\n${session}`);
  if (spans.head.length === 0 && spans.turns === undefined) return hint === undefined ? NO_PROMPT : sessionOnly(hint);
  const walk = new Walk(source.chunks, seed);
  for (const { start, end } of spans.head) walk.to(start, end);
  const before = walk.keys.length;
  let opening = 0;
  if (spans.turns !== undefined) {
    const ends = spans.turnEnds.length === 0 ? [spans.turns.end] : spans.turnEnds;
    const openingEnds = isBeforeTurns(source.chunks, { start: spans.turns.start, end: ends[0] ?? 0 }) ? 2 : 1;
    let from = spans.turns.start;
    for (const [index, end] of ends.entries()) {
      if (index < openingEnds) opening = walk.keys.length;
      walk.to(from, end);
      if (index < openingEnds) walk.markConversation();
      from = end;
    }
  }
  const user = spans.user === "" ? undefined : hashText(`${model}\n${spans.user}`);
  const keys = hint === undefined ? walk.keys : walk.keys.toSpliced(Math.max(before, opening), 0, sessionKey(hint));
  return { keys, conversation: hint ?? user ?? walk.conversation };
}

const sessionKey = (hint: number): number => hint * LENGTH_STEPS;
const sessionOnly = (hint: number): PromptKeys => ({ keys: [sessionKey(hint)], conversation: hint });

/** Whether the first message belongs to everyone who asks the same way, and the conversation begins with the second. */
function isBeforeTurns(chunks: readonly Buffer[], { start, end }: Span): boolean {
  const window = Math.min(ROLE_WINDOW, end - start);
  const text = sliceOf(chunks, start, start + window) + sliceOf(chunks, end - window, end);
  return ROLES_BEFORE_TURNS.some((role) => text.includes(role));
}

function sliceOf(chunks: readonly Buffer[], start: number, end: number): string {
  let text = "";
  let offset = 0;
  for (const chunk of chunks) {
    const from = Math.max(start - offset, 0);
    const to = Math.min(end - offset, chunk.length);
    if (from < to) text += chunk.toString("latin1", from, to);
    offset += chunk.length;
    if (offset >= end) break;
  }
  return text;
}

/** Goes through ranges of a body that rise or fall, and names what it has passed so far. */
class Walk {
  readonly #chunks: readonly Buffer[];
  #crc: number;
  #bytes = 0;
  #step = FIRST_STEP;
  readonly keys: number[] = [];
  conversation: number | undefined;

  constructor(chunks: readonly Buffer[], seed: number) {
    this.#chunks = chunks;
    this.#crc = seed;
  }

  /** Passes a range; its end gets a key, and each doubling inside it. */
  to(start: number, end: number): void {
    let from = start;
    while (this.#bytes + (end - from) > this.#step) {
      const stop = from + this.#step - this.#bytes;
      this.#pass(from, stop);
      from = stop;
      this.#step *= 2;
    }
    this.#pass(from, end);
  }

  /** What has been passed is the same for all of a conversation. */
  markConversation(): void {
    this.conversation = this.#crc;
  }

  #pass(start: number, end: number): void {
    let offset = 0;
    for (const chunk of this.#chunks) {
      const from = Math.max(start - offset, 0);
      const to = Math.min(end - offset, chunk.length);
      if (from < to) this.#crc = crc32(chunk.subarray(from, to), this.#crc);
      offset += chunk.length;
      if (offset >= end) break;
    }
    this.#bytes += end - start;
    this.keys.push(this.#crc * LENGTH_STEPS + (this.#bytes % LENGTH_STEPS));
  }
}
