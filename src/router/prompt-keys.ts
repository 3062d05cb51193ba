import type { ClientRequest } from "./client/http-exchange.ts";
import { crc32 } from "node:zlib";
import { hashText, mix } from "../routing/hash.ts";
import { NO_PROMPT, type PromptKeys } from "../routing/prompt.ts";
import { type BodySpans, piecesOf, type Span } from "./body-spans.ts";

/** From here on each doubling of a prompt's length has a key, so that texts without messages share beginnings too. */
const FIRST_STEP = 1_024;
/** A message tells its role in its first or its last field. */
const ROLE_WINDOW = 64;
const ROLES_BEFORE_TURNS = ['"system"', '"developer"'] as const;
/** Length is part of a key: two beginnings of one hash are then still two. 32 and 20 bits are a whole number. */
const LENGTH_STEPS = 2 ** 20;
const KEYS = 2 ** 32 * LENGTH_STEPS;

/** The names of a request's prompt: made when the first of them is asked for, and once, because a prompt can be long. */
export class PromptNames {
  readonly #req: Pick<ClientRequest, "headers">;
  readonly #body: Omit<PromptSource, "session">;
  #made: PromptKeys | undefined;

  constructor(req: Pick<ClientRequest, "headers">, body: Omit<PromptSource, "session">) {
    this.#req = req;
    this.#body = body;
  }

  get conversation(): number | undefined {
    return this.#names.conversation;
  }

  forModel(model: string): PromptKeys {
    return keysForModel(this.#names, model);
  }

  get #names(): PromptKeys {
    const { chunks, spans } = this.#body;
    const session = this.#req.headers["x-claude-code-session-id"];
    this.#made ??= promptKeys({ chunks, spans, session: typeof session === "string" ? session : "" });
    return this.#made;
  }
}

/** The keys as routers compare them: engines of different models share no cache. */
export function keysForModel({ keys, conversation }: PromptKeys, model: string): PromptKeys {
  const offset = hashText(model) * LENGTH_STEPS;
  return { keys: keys.map((key) => (key + offset) % KEYS), conversation };
}

export interface PromptSource {
  readonly chunks: readonly Buffer[];
  readonly spans: BodySpans;
  /** What stands for a conversation by its client's word: a header's value, "" for none. */
  readonly session: string;
}

/**
 * The keys of a prompt's beginnings: after its tools and its system prompt, after its first and its last messages, and at
 * each doubling. One pass over the bytes, with zlib's CRC, or over some of them; nothing is parsed.
 */
export function promptKeys({ chunks, spans, session }: PromptSource): PromptKeys {
  const hint = hashOfHint(session === "" ? spans.cacheKey : session);
  if (spans.head.length === 0 && spans.turns === undefined) return hint === undefined ? NO_PROMPT : sessionOnly(hint);
  const walk = new Walk(chunks);
  for (const { start, end } of spans.head) walk.to(start, end);
  const opening = spans.turns === undefined ? walk.keys.length : passTurns(walk, spans.turns, spans.turnEnds);
  const keys = hint === undefined ? walk.keys : walk.keys.toSpliced(opening, 0, sessionKey(hint));
  return { keys, conversation: hint ?? hashOfHint(spans.user) ?? walk.conversation };
}

const hashOfHint = (hint: string): number | undefined => (hint === "" ? undefined : hashText(hint));

/**
 * Passes the messages. A conversation is told from others by its first one, or by its second where the first is the system
 * prompt. Answers how many keys stand for what comes before that message: so much may be shared with strangers.
 */
function passTurns(walk: Walk, turns: Span, turnEnds: readonly number[]): number {
  const ends = turnEnds.length === 0 ? [turns.end] : turnEnds;
  const last = ends.length > 1 && walk.beginsWithSystem(turns.start, ends[0] ?? turns.end) ? 1 : 0;
  let from = turns.start;
  let opening = 0;
  for (let index = 0; index < ends.length; index++) {
    const end = ends[index] ?? from;
    if (index === last) opening = walk.keys.length;
    walk.to(from, end);
    if (index === last) walk.markConversation();
    from = end;
  }
  return opening;
}

const sessionKey = (hint: number): number => hint * LENGTH_STEPS;
const sessionOnly = (hint: number): PromptKeys => ({ keys: [sessionKey(hint)], conversation: hint });

/** Goes through ranges of a body that rise or fall, and names what it has passed so far. */
class Walk {
  readonly #chunks: readonly Buffer[];
  /** The body, where it came in one piece, as most do. */
  readonly #whole: Buffer | undefined;
  #hash = 0;
  #bytes = 0;
  #step = FIRST_STEP;
  readonly keys: number[] = [];
  conversation: number | undefined;

  constructor(chunks: readonly Buffer[]) {
    this.#chunks = chunks;
    this.#whole = chunks.length === 1 ? chunks[0] : undefined;
  }

  #read(start: number, end: number): void {
    if (this.#whole !== undefined) this.#hash = crcOf(this.#whole, { start, end }, this.#hash);
    else for (const piece of piecesOf(this.#chunks, { start, end })) this.#hash = crc32(piece, this.#hash);
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

  /** Whether the first message is for everyone who asks the same way. */
  beginsWithSystem(start: number, end: number): boolean {
    const window = Math.min(ROLE_WINDOW, end - start);
    return this.#namesRole(start, start + window) || this.#namesRole(end - window, end);
  }

  #namesRole(start: number, end: number): boolean {
    const text = this.#text(start, end);
    return text.includes(ROLES_BEFORE_TURNS[0]) || text.includes(ROLES_BEFORE_TURNS[1]);
  }

  #text(start: number, end: number): string {
    if (this.#whole !== undefined) return this.#whole.toString("latin1", start, end);
    return [...piecesOf(this.#chunks, { start, end })].map((piece) => piece.toString("latin1")).join("");
  }

  /** What has been passed is the same for all of a conversation. */
  markConversation(): void {
    this.conversation = this.#hash;
  }

  #pass(start: number, end: number): void {
    if (end - start <= ALL_OF) this.#read(start, end);
    else this.#sample(start, end);
    this.#bytes += end - start;
    this.keys.push(this.#hash * LENGTH_STEPS + (this.#bytes % LENGTH_STEPS));
  }

  /** Two prompts that differ do so for longer than what is passed over, or at an end. */
  #sample(start: number, end: number): void {
    this.#read(start, start + AT_ENDS);
    if (this.#whole !== undefined) this.#hash = mixedWithSamples(this.#whole, { start, end }, this.#hash);
    else {
      const range = Buffer.concat([...piecesOf(this.#chunks, { start, end })]);
      this.#hash = mixedWithSamples(range, { start: 0, end: range.length }, this.#hash);
    }
    this.#read(end - AT_ENDS, end);
  }
}

/** Of longer ranges, which are longer from key to key, so many bytes are read: at each end, and at even distances between. */
const ALL_OF = 1_000;
const AT_ENDS = 32;
const SAMPLES = 64;

/** Below it the way into native code and a view of the bytes cost more than the bytes. */
const NATIVE_FROM = 128;
/** The CRC of each single byte, as zlib counts it. */
const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => crcOfByte(byte));

function crcOfByte(byte: number): number {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc >>> 0;
}

/** The CRC of what came before and of these bytes. */
function crcOf(bytes: Buffer, { start, end }: Span, before: number): number {
  if (end - start >= NATIVE_FROM) return crc32(bytes.subarray(start, end), before);
  let crc = ~before;
  for (let at = start; at < end; at++) crc = (TABLE[(crc ^ (bytes[at] ?? 0)) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** What came before, and bytes at even distances, four at a time. */
function mixedWithSamples(bytes: Buffer, { start, end }: Span, before: number): number {
  const step = (end - start) / SAMPLES;
  const at = (sample: number): number => bytes[start + Math.floor(sample * step)] ?? 0;
  let mixed = before;
  for (let sample = 0; sample < SAMPLES; sample += 4) {
    const word = at(sample) | (at(sample + 1) << 8) | (at(sample + 2) << 16) | (at(sample + 3) << 24);
    mixed = mix(mixed, word);
  }
  return mixed;
}
