import type { RequestBody } from "./client/http-exchange.ts";

/** Where a body comes from. */
export type BodySource = Pick<RequestBody, "pause" | "resume">;

/** Where the rest of a body goes. */
export interface BodySink {
  /** False: it takes no more before it calls back. */
  sendMore(pieces: readonly Buffer[]): boolean;
  onceDrained(then: () => void): void;
  /** The request is whole. */
  finish(): void;
}

const LINE_END = Buffer.from("\r\n");
const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Pieces as one chunk of a body whose length is not known before its end. */
export function asChunk(pieces: readonly Buffer[]): readonly Buffer[] {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  return bytes === 0 ? [] : [Buffer.from(`${bytes.toString(16)}\r\n`), ...pieces, LINE_END];
}

/**
 * What of a client's body is still to come when an engine is chosen. Nothing more is read while there is no engine, or while
 * it does not keep up, and what was passed on is held no longer: from then on the request cannot be repeated.
 */
export class OpenBody {
  readonly #source: BodySource;
  readonly #hasLength: boolean;
  #sink: BodySink | undefined;
  #phase: "coming" | "whole" | "over" = "coming";
  #isHeldUp = false;
  #isRepeatable = true;
  /** A stream's counts are to be asked for, should the client turn out to want a stream: that is known at the end. */
  asksUsage = false;
  /** They were asked for. */
  addedUsage = false;
  /** For the engine that is asked: what stands before the closing brace of the whole. */
  ending: readonly Buffer[] = [];

  /** `hasLength`: the client said how long the whole is. */
  constructor(source: BodySource, hasLength: boolean) {
    this.#source = source;
    this.#hasLength = hasLength;
    source.pause();
  }

  /** How long it will be is not known, so an engine gets it in chunks. */
  get isChunked(): boolean {
    return !this.#hasLength || this.asksUsage || this.ending.length > 0;
  }

  get isComing(): boolean {
    return this.#phase === "coming";
  }

  /** Nobody wants it any more. */
  get isOver(): boolean {
    return this.#phase === "over";
  }

  /** An engine could take more, and nothing comes. */
  get waitsForClient(): boolean {
    return this.isComing && this.#sink !== undefined && !this.#isHeldUp;
  }

  /** What came before it is all that any engine has had. */
  get isRepeatable(): boolean {
    return this.#isRepeatable;
  }

  /** An engine has the beginning: it is to have the rest. */
  attach(sink: BodySink): void {
    this.#sink = sink;
    this.#isHeldUp = false;
    if (this.isComing) this.#source.resume();
  }

  /** That engine is to have no more. */
  detach(): void {
    this.#sink = undefined;
    if (this.isComing) this.#source.pause();
  }

  pass(pieces: readonly Buffer[]): void {
    const sink = this.#sink;
    if (sink === undefined || !this.isComing) return;
    this.#isRepeatable = false;
    if (sink.sendMore(this.isChunked ? asChunk(pieces) : pieces)) return;
    this.#isHeldUp = true;
    this.#source.pause();
    sink.onceDrained(() => {
      if (this.#sink !== sink || !this.isComing) return;
      this.#isHeldUp = false;
      this.#source.resume();
    });
  }

  /** All of it has come. */
  finish(): void {
    if (!this.isComing) return;
    this.#phase = "whole";
    if (this.isChunked) this.#sink?.sendMore([LAST_CHUNK]);
    this.#sink?.finish();
  }

  /** Whatever still comes is read and thrown away, so that the client gets to reading its answer. */
  abandon(): void {
    if (this.isComing) this.#source.resume();
    this.#phase = "over";
    this.#sink = undefined;
  }
}
