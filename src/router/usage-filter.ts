/** No event of counts is longer. What is, goes on as it comes. */
const LONGEST_USAGE_EVENT = 16_384;
const LINE_END = String.raw`(?:\r\n|(?<!\r)\n|\r(?!\n))`;
const EMPTY_LINE = new RegExp(LINE_END + LINE_END, "g");
/** Whole lines that keep a connection alive and belong to no event, and empty ones: that behind a comment may come later. */
const COMMENTS = /^(?:(?::[^\r\n]*)?\r?\n)+/;
const FINISHED = /"finish_reason":[ ]?"/;
/** What a marker has that few other texts have; its quote is the character before. */
const KEY = 'finish_reason":';
const WORD = '"usage"';
/** Bytes of a read's end in which the marker may have begun. */
const OVERLAP = 20;
const CR = "\r";
const LF = "\n";

/**
 * Takes the one event out of a stream that the client did not ask for: that of the counts, with no choices in it. It comes
 * after the one that tells why the answer ended; until then everything goes on as it comes and is hardly looked at. From
 * there on the beginning of an event is held until it is whole, because only then can be told what it is. All other bytes
 * are the client's, the same whatever reads they came in. Its text has a character for each byte.
 */
export class UsageFilter {
  #hasFinished = false;
  /** The end of the last read, when it ended inside a line. */
  #tail = "";
  #held = "";
  /** In an event that is not one of counts, or too long to be. */
  #isPassing = false;

  /** What of this, and of what is held, goes to the client. */
  push(text: string): string {
    if (!this.#hasFinished) return this.#beforeFinish(text);
    if (this.#held === "" && !this.#isPassing && isPlain(text)) return text;
    return this.#filter(this.#held + text);
  }

  /** The stream ends with this: what is still held goes on, if it is the client's. */
  finish(last: string): string {
    const kept = this.push(last);
    const held = this.#held;
    this.#held = "";
    return !this.#isPassing && isUsageEvent(held) ? kept : kept + held;
  }

  #beforeFinish(text: string): string {
    const from = this.#endOfMarker(text);
    if (from === -1) {
      this.#tail = text.endsWith(LF) ? "" : (this.#tail + text.slice(-OVERLAP)).slice(-OVERLAP);
      return text;
    }
    this.#hasFinished = true;
    this.#isPassing = true;
    return text.slice(0, from) + this.#filter(text.slice(from));
  }

  /** Where the marker of the end has been read, or -1. */
  #endOfMarker(text: string): number {
    if (this.#tail !== "") {
      const found = FINISHED.exec(this.#tail + text.slice(0, OVERLAP));
      const end = found === null ? -1 : found.index + found[0].length - this.#tail.length;
      if (end > 0) return end;
    }
    for (let at = text.indexOf(KEY); at !== -1; at = text.indexOf(KEY, at + 1)) {
      const value = at + KEY.length + (text[at + KEY.length] === " " ? 1 : 0);
      if (text[at - 1] === '"' && text[value] === '"') return value + 1;
    }
    return -1;
  }

  #filter(text: string): string {
    const whole = this.#passWhole(text);
    const from = whole.end + (this.#isPassing ? 0 : commentLength(text.slice(whole.end)));
    return whole.kept + text.slice(whole.end, from) + this.#keepRest(text.slice(from));
  }

  /** Events that end in this text, and where the first that does not begins. */
  #passWhole(text: string): { readonly kept: string; readonly end: number } {
    let kept = "";
    let from = 0;
    for (const { index, 0: border } of text.matchAll(EMPTY_LINE)) {
      const end = index + border.length;
      // The border's line feed may be still to come.
      if (end === text.length && border.endsWith(CR)) break;
      const event = text.slice(from, end);
      kept += this.#isPassing || !isUsageEvent(event) ? event : event.slice(0, commentLength(event));
      this.#isPassing = false;
      from = end;
    }
    return { kept, end: from };
  }

  /** An event that is not whole yet: held, or passed on but for the characters that its border may begin with. */
  #keepRest(rest: string): string {
    let end = 0;
    if (this.#isPassing || rest.length > LONGEST_USAGE_EVENT) {
      this.#isPassing = true;
      end = rest.length;
      while (end > 0 && rest.length - end < 3 && (rest[end - 1] === CR || rest[end - 1] === LF)) end -= 1;
    }
    this.#held = rest.slice(end);
    return rest.slice(0, end);
  }
}

/** Whole events that say nothing of counts, as nearly all reads are. */
const isPlain = (text: string): boolean => text.endsWith("\n\n") && !text.includes(WORD);

const commentLength = (text: string): number => COMMENTS.exec(text)?.[0].length ?? 0;

function isUsageEvent(event: string): boolean {
  if (event.length > LONGEST_USAGE_EVENT || !event.includes(WORD)) return false;
  const lines = Buffer.from(event, "latin1")
    .toString("utf8")
    .split(/\r\n|\n|\r/);
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
