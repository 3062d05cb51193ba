/** No event of counts is longer. What is, goes on as it comes. */
const LONGEST_USAGE_EVENT = 16_384;
const LINE_END = String.raw`(?:\r\n|(?<!\r)\n|\r(?!\n))`;
const EMPTY_LINE = new RegExp(LINE_END + LINE_END, "g");
/** Whole lines that keep a connection alive and belong to no event, and empty ones: that behind a comment may come later. */
const COMMENTS = /^(?:(?::[^\r\n]*)?\r?\n)+/;
const FINISHED = /"finish_reason":[ ]?"/;
const MARKERS = ['"finish_reason":"', '"finish_reason": "'] as const;
const WORD = Buffer.from('"usage"');
/** Bytes of a read's end in which the marker may have begun. */
const OVERLAP = 20;
const COLON = 0x3a;
const CR = 0x0d;
const LF = 0x0a;

/**
 * Takes the one event out of a stream that the client did not ask for: that of the counts, with no choices in it. It comes
 * after the one that tells why the answer ended; until then everything goes on as it comes and is hardly looked at. From
 * there on the beginning of an event is held until it is whole, because only then can be told what it is. All other bytes
 * are the client's, the same whatever reads they came in.
 */
export class UsageFilter {
  #hasFinished = false;
  /** The end of the last read, when it ended inside a line. */
  #tail = "";
  #held: Buffer | undefined;
  /** In an event that is not one of counts, or too long to be. */
  #isPassing = false;

  /** What of these bytes, and of those held, goes to the client; undefined for nothing. `text`: they, a character for each. */
  push(chunk: Buffer, text = chunk.toString("latin1")): Buffer | undefined {
    if (!this.#hasFinished) return this.#beforeFinish(chunk, text);
    if (this.#held === undefined && !this.#isPassing && isPlain(chunk)) return chunk;
    return this.#filter(this.#held === undefined ? chunk : Buffer.concat([this.#held, chunk]));
  }

  /** The stream ends with these bytes: what is still held goes on, if it is the client's. */
  finish(last: Buffer | undefined): Buffer | undefined {
    const kept = last === undefined ? undefined : this.push(last);
    const held = this.#held;
    this.#held = undefined;
    if (held === undefined || (!this.#isPassing && isUsageEvent(held))) return kept;
    return kept === undefined ? held : Buffer.concat([kept, held]);
  }

  #beforeFinish(chunk: Buffer, text: string): Buffer | undefined {
    const from = this.#endOfMarker(text);
    if (from === -1) {
      this.#tail = chunk[chunk.length - 1] === LF ? "" : (this.#tail + text.slice(-OVERLAP)).slice(-OVERLAP);
      return chunk;
    }
    this.#hasFinished = true;
    this.#isPassing = true;
    const rest = from === chunk.length ? undefined : this.#filter(chunk.subarray(from));
    const begin = chunk.subarray(0, from);
    return rest === undefined ? begin : Buffer.concat([begin, rest]);
  }

  /** Where the marker of the end has been read, or -1. */
  #endOfMarker(text: string): number {
    if (this.#tail !== "") {
      const found = FINISHED.exec(this.#tail + text.slice(0, OVERLAP));
      const end = found === null ? -1 : found.index + found[0].length - this.#tail.length;
      if (end > 0) return end;
    }
    for (const marker of MARKERS) {
      const at = text.indexOf(marker);
      if (at !== -1) return at + marker.length;
    }
    return -1;
  }

  #filter(bytes: Buffer): Buffer | undefined {
    const kept: Buffer[] = [];
    let from = this.#passWhole(bytes, kept);
    const comments = this.#isPassing ? 0 : commentBytes(bytes.subarray(from));
    if (comments > 0) kept.push(bytes.subarray(from, from + comments));
    from += comments;
    this.#keepRest(bytes.subarray(from), kept);
    return kept.length > 1 ? Buffer.concat(kept) : kept[0];
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

  /** An event that is not whole yet: held, or passed on but for the bytes that its border may begin with. */
  #keepRest(rest: Buffer, kept: Buffer[]): void {
    this.#held = undefined;
    let end = 0;
    if (this.#isPassing || rest.length > LONGEST_USAGE_EVENT) {
      this.#isPassing = true;
      end = rest.length;
      while (end > 0 && rest.length - end < 3 && (rest[end - 1] === CR || rest[end - 1] === LF)) end -= 1;
    }
    if (end > 0) kept.push(rest.subarray(0, end));
    if (end < rest.length) this.#held = Buffer.from(rest.subarray(end));
  }
}

/** Whole events that say nothing of counts, as nearly all reads are. */
const isPlain = (chunk: Buffer): boolean =>
  chunk.length > 1 && chunk[chunk.length - 1] === LF && chunk[chunk.length - 2] === LF && !chunk.includes(WORD);

function commentBytes(bytes: Buffer): number {
  if (bytes[0] !== COLON && bytes[0] !== CR && bytes[0] !== LF) return 0;
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
