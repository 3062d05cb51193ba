/** No event of counts is longer. What is, goes on as it comes. */
const LONGEST_USAGE_EVENT = 16_384;
const LINE_END = String.raw`(?:\r\n|(?<!\r)\n|\r(?!\n))`;
const EMPTY_LINE = new RegExp(LINE_END + LINE_END, "g");
/** Whole lines that keep a connection alive and belong to no event. */
const COMMENTS = /^(?::[^\r\n]*\r?\n)+/;
const WORD = Buffer.from('"usage"');
const COLON = 0x3a;
const CR = 0x0d;
const LF = 0x0a;

/**
 * Takes the one event out of a stream that the client did not ask for: that of the counts, with no choices in it. All
 * other bytes go on as they came, whatever reads they came in. The beginning of an event is held until the event is whole,
 * because only then can be told what it is; no client can use half an event.
 */
export class UsageFilter {
  #held: Buffer | undefined;
  /** In an event that is too long to be of counts. */
  #isPassing = false;

  /** What of these bytes, and of those held, goes to the client; undefined for nothing. */
  push(chunk: Buffer): Buffer | undefined {
    if (this.#held === undefined && !this.#isPassing && isPlain(chunk)) return chunk;
    const bytes = this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]);
    const kept: Buffer[] = [];
    const from = this.#passWhole(bytes, kept);
    const comments = this.#isPassing ? 0 : commentBytes(bytes.subarray(from));
    if (comments > 0) kept.push(bytes.subarray(from, from + comments));
    const rest = bytes.subarray(from + comments);
    this.#held = undefined;
    if (this.#isPassing || rest.length > LONGEST_USAGE_EVENT) this.#passPart(rest, kept);
    else if (rest.length > 0) this.#held = Buffer.from(rest);
    return kept.length > 1 ? Buffer.concat(kept) : kept[0];
  }

  /** The stream ends with these bytes: what is still held goes on, if it is the client's. */
  finish(last: Buffer | undefined): Buffer | undefined {
    const kept = last === undefined ? undefined : this.push(last);
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined || (!this.#isPassing && isUsageEvent(held))) return kept;
    return kept === undefined ? held : Buffer.concat([kept, held]);
  }

  /** Nothing of an event has gone on that is not whole. */
  get isBetweenEvents(): boolean {
    return !this.#isPassing;
  }

  /** Events that end in these bytes. Answers where the first that does not begins. */
  #passWhole(bytes: Buffer, kept: Buffer[]): number {
    const text = bytes.toString("latin1");
    let from = 0;
    for (const { index, 0: border } of text.matchAll(EMPTY_LINE)) {
      const end = index + border.length;
      // The border's line feed may be still to come.
      if (end === bytes.length && bytes[end - 1] === CR) break;
      const event = bytes.subarray(from, end);
      if (this.#isPassing || !isUsageEvent(event)) kept.push(event);
      else if (commentBytes(event) > 0) kept.push(event.subarray(0, commentBytes(event)));
      this.#isPassing = false;
      from = end;
    }
    return from;
  }

  /** A part of an event that is passed on unseen, but for the bytes that its border may begin with. */
  #passPart(rest: Buffer, kept: Buffer[]): void {
    let end = rest.length;
    while (end > 0 && rest.length - end < 3 && (rest[end - 1] === CR || rest[end - 1] === LF)) end -= 1;
    this.#isPassing = true;
    if (end > 0) kept.push(rest.subarray(0, end));
    if (end < rest.length) this.#held = Buffer.from(rest.subarray(end));
  }
}

/** Whole events that say nothing of counts, as nearly all reads are. */
const isPlain = (chunk: Buffer): boolean =>
  chunk.length > 1 && chunk[chunk.length - 1] === LF && chunk[chunk.length - 2] === LF && !chunk.includes(WORD);

function commentBytes(bytes: Buffer): number {
  if (bytes[0] !== COLON) return 0;
  return COMMENTS.exec(bytes.toString("latin1"))?.[0].length ?? 0;
}

function isUsageEvent(event: Buffer): boolean {
  if (event.length > LONGEST_USAGE_EVENT || !event.includes(WORD)) return false;
  const lines = event.toString("utf8").split(/\r\n|\n|\r/);
  const data = lines.flatMap((line) => (line.startsWith("data:") ? [line.slice(5)] : [])).join("\n");
  try {
    return countsOnly(JSON.parse(data));
  } catch {
    return false;
  }
}

function countsOnly(value: unknown): boolean {
  if (typeof value !== "object" || value === null || !("choices" in value) || !("usage" in value)) return false;
  const { choices, usage } = value;
  return Array.isArray(choices) && choices.length === 0 && typeof usage === "object" && usage !== null;
}
