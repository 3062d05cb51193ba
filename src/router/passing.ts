import { usageAtEnd } from "./ask-usage.ts";
import { piecesOf, type StreamOptionsSpan } from "./body-spans.ts";
import type { OpenBody } from "./open-body.ts";
import type { SoFar } from "./routing-fields.ts";

/** Whether a body of which more is to come says already whom to ask, as far as it says it once. */
export const isSettled = ({ problem, fields, close }: SoFar): boolean =>
  problem === undefined && fields.model.kind === "name" && close === undefined;

/** Looks at the pieces of a body's rest as they pass: it may not take back what was said before, and may need words at its end. */
export class Passing {
  readonly #rest: OpenBody;
  readonly #model: SoFar["fields"]["model"];
  #options: StreamOptionsSpan | undefined;
  /** The value of stream_options as it came. */
  #optionsText: Buffer | undefined;
  /** The piece before, because a value may lie across two. */
  #last: Buffer;
  #bytes = 0;
  #hasClosed = false;

  /** `begun`: what came before the rest. */
  constructor(rest: OpenBody, soFar: SoFar, begun: readonly Buffer[]) {
    this.#rest = rest;
    this.#model = soFar.fields.model;
    for (const piece of begun) this.#bytes += piece.length;
    this.#last = begun.at(-1) ?? Buffer.alloc(0);
    this.#options = soFar.streamOptions;
    if (this.#options !== undefined) this.#optionsText = Buffer.concat([...piecesOf(begun, this.#options)]);
  }

  get isOver(): boolean {
    return this.#rest.isOver;
  }

  /** Passes a piece on, or answers what is wrong with the body. `soFar`: with this piece. */
  pass(chunk: Buffer, { problem, fields, streamOptions, close }: SoFar): string | undefined {
    if (problem !== undefined) return problem;
    if (fields.model !== this.#model) return "it names a model a second time, after another engine could be chosen";
    const start = this.#bytes;
    this.#bytes += chunk.length;
    if (streamOptions !== undefined && streamOptions !== this.#options) this.#keep(streamOptions, chunk, start);
    this.#last = chunk;
    if (close === undefined || this.#hasClosed) {
      this.#rest.pass([chunk]);
      return undefined;
    }
    this.#hasClosed = true;
    const [before, after] = [chunk.subarray(0, close - start), chunk.subarray(close - start)];
    this.#rest.addedUsage = this.#rest.asksUsage && fields.stream && !fields.includeUsage;
    const added = this.#rest.addedUsage ? [usageAtEnd(this.#optionsText)] : [];
    this.#rest.pass([before, ...added, ...this.#rest.ending, after]);
    return undefined;
  }

  #keep(options: StreamOptionsSpan, chunk: Buffer, start: number): void {
    this.#options = options;
    const from = start - this.#last.length;
    const span = { start: options.start - from, end: options.end - from };
    this.#optionsText = span.start < 0 ? undefined : Buffer.concat([...piecesOf([this.#last, chunk], span)]);
  }

  finish(): void {
    this.#rest.finish();
  }
}
