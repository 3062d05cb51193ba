import { type SseEvent, SseSplitter } from "../../wire/sse/splitter.ts";

/** Parts of an event that carry nothing of an answer. */
const EMPTY: ReadonlySet<unknown> = new Set([undefined, null, "", false]);

export const isEmpty = (value: unknown): boolean => EMPTY.has(value) || (Array.isArray(value) && value.length === 0);

/** What one event of a stream has brought. */
export interface Told {
  /** Of the answer. */
  readonly text?: string;
  /** Tokens of the answer so far, where the engine counts them on the way. */
  readonly counted?: number | undefined;
  /** Why nobody can go on from here. */
  readonly problem?: string | undefined;
}

/** Reads the events of one API's streams. */
export interface EventReader {
  read(event: SseEvent): Told;
}

/** What a client has of a stream, as far as going on with it elsewhere needs it. */
export class Said {
  readonly #splitter = new SseSplitter();
  readonly #reader: EventReader;
  #pieces: string[] = [];
  #isCounted = false;
  /** Tokens; each event with text counts as one where the engine does not count them. */
  produced = 0;
  /** Of them those up to the last one that is no white space. */
  tokens = 0;
  /** Characters of text. */
  length = 0;
  /** Why nobody can go on from here; undefined: somebody may. */
  problem: string | undefined;

  constructor(reader: EventReader) {
    this.#reader = reader;
  }

  push(bytes: Buffer): void {
    for (const event of this.#splitter.push(bytes)) if (this.problem === undefined) this.#read(event);
    if (this.#splitter.isTooLong) this.problem = "an event of it was too long";
  }

  text(): string {
    if (this.#pieces.length > 1) this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }

  /** The engine has counted its tokens on the way. */
  get isCounted(): boolean {
    return this.#isCounted;
  }

  #read(event: SseEvent): void {
    const { text = "", counted, problem } = this.#reader.read(event);
    this.problem = problem;
    if (counted !== undefined) {
      this.#isCounted = true;
      this.produced = counted;
    } else if (text !== "" && !this.#isCounted) this.produced += 1;
    if (text === "") return;
    this.#pieces.push(text);
    this.length += text.length;
    if (text.trim() !== "") this.tokens = this.produced;
  }
}
