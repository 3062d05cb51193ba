import { ByteText } from "./byte-text.ts";
import { readUsage, type Usage } from "./usage.ts";

/** How a stream that the engine ended by itself ended. */
export type StreamEnd =
  | { readonly kind: "complete" }
  /** No terminal marker and no finish reason: the engine lost it. */
  | { readonly kind: "truncated" }
  /** The engine reported its failure as an event inside a 200. */
  | { readonly kind: "engineError"; readonly code: number };

/** At least so many last bytes are kept: they tell the end. An event with counts and timings is under 2 KiB. */
const TAIL_LENGTH = 4_096;
/** Enough to find the first data line behind some comments. */
const HEAD_LENGTH = 4_096;

/** A data line with enough of it to tell an error from a token. */
const DATA_LINE = /(?:^|[\r\n])data:(?:[^\r\n]{24}|[^\r\n]*[\r\n])/;
const ERROR_EVENT = /(?:^|[\r\n])(?:event: ?error[\r\n]|data: ?\{\s*"error"\s*:\s*[^n\s])/;
const ERROR_CODE = /"code"\s*:\s*"?([45]\d\d)\b/;
const FINISHED = /"(?:finish_reason|stop_reason)"\s*:\s*"/;
/** [DONE] of OpenAI's older APIs, and the last events of Messages, Responses, sound and pictures. */
const TERMINAL =
  /(?:^|[\r\n])data: ?(?:\[DONE\]|\{"type":\s*"(?:message_stop|response\.(?:completed|incomplete|failed)|transcript\.text\.done|speech\.audio\.done|image_generation\.completed)")|(?:^|[\r\n])event: ?(?:message_stop|response\.(?:completed|incomplete|failed))[\r\n]/;
const EVENT_START = /[\r\n](?:data|event):/;
const BORDER = /(?:\n\n|\r\n\r\n|\n\r\n|\r\r)$/;

const DATA = "\ndata:";
const DATA_FIRST = "data:";

/** Lines of data that begin in these bytes. Most reads hold one event. */
function eventsIn(text: string): number {
  let events = text.startsWith(DATA_FIRST) ? 1 : 0;
  for (let at = text.indexOf(DATA); at !== -1; at = text.indexOf(DATA, at + DATA.length)) events += 1;
  return events;
}

/**
 * Looks at an event stream's bytes as they pass and holds on to none but the last few KiB: an event may be of any length,
 * or never end.
 */
export class StreamWatch {
  readonly #tail = new ByteText();
  /** What has come before the first data line; undefined behind it. */
  #head: string | undefined = "";
  #usageAtStart: Usage | undefined;
  /** Data events so far; one whose first bytes came in two reads may be missed. */
  events = 0;

  /** Answers true once: when this brings the first data event that is no error. A character of `text` is a byte. */
  push(text: string): boolean {
    this.events += eventsIn(text);
    this.#tail.push(text);
    this.#tail.keepLast(TAIL_LENGTH);
    return this.#head !== undefined && this.#isFirstData(text, this.#head);
  }

  /** Nothing of an event has been sent that is not whole: the router may add a line of its own. */
  get isBetweenEvents(): boolean {
    const end = this.#tail.toString().slice(-4);
    return end === "" || BORDER.test(end);
  }

  /** The last events; of the first of them the beginning may be missing. */
  tail(): Buffer {
    return Buffer.concat(this.#tail.pieces());
  }

  /** Nothing more will be asked of it. */
  release(): void {
    this.#tail.clear();
  }

  /** The last event that a whole stream has is there, and no error before it. */
  get isDone(): boolean {
    const text = this.#tail.toString();
    return TERMINAL.test(text) && !ERROR_EVENT.test(text);
  }

  end(): StreamEnd {
    const text = this.#tail.toString();
    const error = ERROR_EVENT.exec(text);
    if (error !== null) {
      const code = ERROR_CODE.exec(text.slice(error.index))?.[1];
      return { kind: "engineError", code: code === undefined ? 502 : Number(code) };
    }
    if (TERMINAL.test(text) || FINISHED.test(text)) return { kind: "complete" };
    // One event longer than all that was kept, with counts at its end: the whole answer, as Responses end with.
    if (!EVENT_START.test(text) && this.usage() !== undefined) return { kind: "complete" };
    return { kind: "truncated" };
  }

  /** The counts that the first event brought, as those of Messages do. */
  get usageAtStart(): Usage | undefined {
    return this.#usageAtStart;
  }

  usage(): Usage | undefined {
    return readUsage(this.#tail.toString(), this.#usageAtStart);
  }

  #isFirstData(text: string, before: string): boolean {
    const head = (before + text).slice(0, HEAD_LENGTH);
    if (!DATA_LINE.test(head) && head.length < HEAD_LENGTH) {
      this.#head = head;
      return false;
    }
    this.#head = undefined;
    this.#usageAtStart = head.includes('"message_start"') ? readUsage(head) : undefined;
    return !ERROR_EVENT.test(head);
  }
}
