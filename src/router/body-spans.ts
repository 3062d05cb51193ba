/** A range of a body's bytes: from its first to the one after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The bytes of a range of a body that lies in pieces; none is copied. */
export function* piecesOf(chunks: readonly Buffer[], { start, end }: Span): Generator<Buffer, undefined> {
  let offset = 0;
  for (const chunk of chunks) {
    if (offset >= end) return;
    const from = Math.max(start - offset, 0);
    const to = Math.min(end - offset, chunk.length);
    if (from < to) yield chunk.subarray(from, to);
    offset += chunk.length;
  }
}

/** Where in a body things stand that routing looks at or writes to. Offsets are from the body's first byte. */
export interface BodySpans {
  /** What an engine reads before any message: tools, system prompt, instructions. In the body's order. */
  readonly head: readonly Span[];
  /** The whole of `messages`, `prompt` or `input`. */
  readonly turns: Span | undefined;
  /** Where the first and the last few elements of that list end, rising; empty when it is no list. */
  readonly turnEnds: readonly number[];
  /** `prompt_cache_key`: whoever sends it says which requests belong together. "" for none. */
  readonly cacheKey: string;
  /** `user`; "" for none. */
  readonly user: string;
  readonly streamOptions: StreamOptionsSpan | undefined;
  /** The value of `model`. */
  readonly model: Span | undefined;
  /** It is a field of a form, and no JSON. */
  readonly isForm?: boolean;
  /** The closing brace of the whole. */
  readonly close: number;
}

/** Of a body that is no JSON. */
export const NO_SPANS: BodySpans = {
  head: [],
  turns: undefined,
  turnEnds: [],
  cacheKey: "",
  user: "",
  streamOptions: undefined,
  model: undefined,
  close: 0,
};

export interface StreamOptionsSpan extends Span {
  readonly isObject: boolean;
  readonly isEmpty: boolean;
  /** The value of `include_usage`. */
  readonly includeUsage: Span | undefined;
}

const HEAD_KEYS: ReadonlySet<string> = new Set(["tools", "system", "instructions"]);
const TURN_KEYS: ReadonlySet<string> = new Set(["messages", "prompt", "input"]);

/** Keys whose place in the body matters, beside those of the routing fields. */
export const SPAN_KEYS: readonly string[] = [...HEAD_KEYS, ...TURN_KEYS, "prompt_cache_key", "user"];

/** Conversations share their beginning and grow at their end, and a body can have millions of elements: the middle is not kept. */
const FIRST_ENDS = 4;
const LAST_ENDS = 8;

/** Notes where values begin and end, as a scanner meets them. What comes twice counts where it came last. */
export class SpanRecorder {
  #head: (Span & { readonly key: string })[] = [];
  #start = 0;
  #turns: Span | undefined;
  /** Where messages begin that have not ended. */
  #openTurns: number | undefined;
  #firstEnds: number[] = [];
  readonly #lastEnds: number[] = [];
  #elements = 0;
  #cacheKey = "";
  #user = "";
  #options: StreamOptionsSpan | undefined;
  #optionsEmpty = true;
  #includeStart = 0;
  #include: Span | undefined;
  #model: Span | undefined;
  #close = 0;

  /** The value of a key of the outermost object begins. */
  begin(key: string, at: number): void {
    this.#start = at;
    if (TURN_KEYS.has(key)) {
      this.#turns = undefined;
      this.#openTurns = at;
      this.#firstEnds = [];
      this.#elements = 0;
    } else if (key === "stream_options") {
      this.#options = undefined;
      this.#optionsEmpty = true;
      this.#include = undefined;
    } else if (key === "prompt_cache_key") this.#cacheKey = "";
    else if (key === "user") this.#user = "";
  }

  /** That value has ended. */
  end(key: string, at: number, isObject: boolean): void {
    const span = { start: this.#start, end: at };
    if (key === "model") this.#model = span;
    else if (TURN_KEYS.has(key)) this.#turns = span;
    else if (HEAD_KEYS.has(key)) {
      this.#head = this.#head.filter((earlier) => earlier.key !== key);
      this.#head.push({ key, ...span });
    } else if (key === "stream_options") {
      this.#options = { ...span, isObject, isEmpty: this.#optionsEmpty, includeUsage: this.#include };
    }
  }

  /** An element of the list that is the value of `key` has ended. */
  element(key: string, at: number): void {
    if (!TURN_KEYS.has(key)) return;
    if (this.#elements < FIRST_ENDS) this.#firstEnds.push(at);
    this.#lastEnds[this.#elements % LAST_ENDS] = at;
    this.#elements += 1;
  }

  text(key: string, text: string): void {
    if (key === "prompt_cache_key") this.#cacheKey = text;
    else if (key === "user") this.#user = text;
  }

  /** A key inside stream_options begins. */
  option(): void {
    this.#optionsEmpty = false;
  }

  includeBegins(at: number): void {
    this.#includeStart = at;
    this.#include = undefined;
  }

  includeEnds(at: number): void {
    this.#include = { start: this.#includeStart, end: at };
  }

  closed(at: number): void {
    this.#close = at;
  }

  get close(): number {
    return this.#close;
  }

  get streamOptions(): StreamOptionsSpan | undefined {
    return this.#options;
  }

  /** Of a body that goes on: what lies before `cut`, messages that have not ended as if they ended there. */
  spansBefore(cut: number): BodySpans {
    const open = this.#openTurns === undefined ? undefined : { start: this.#openTurns, end: cut };
    const { turns = open, turnEnds, ...spans } = this.spans();
    return { ...spans, turns, turnEnds: turnEnds.filter((end) => end <= cut) };
  }

  spans(): BodySpans {
    return {
      head: this.#head,
      turns: this.#turns,
      turnEnds: this.#turnEnds(),
      cacheKey: this.#cacheKey,
      user: this.#user,
      streamOptions: this.#options,
      model: this.#model,
      close: this.#close,
    };
  }

  #turnEnds(): readonly number[] {
    // Most conversations are so short that none of their ends was forgotten.
    if (this.#elements <= FIRST_ENDS) return this.#firstEnds;
    const kept = this.#lastEnds.slice(0, Math.min(this.#elements, LAST_ENDS)).toSorted((a, b) => a - b);
    const known = this.#firstEnds.at(-1) ?? -1;
    return [...this.#firstEnds, ...kept.filter((end) => end > known)];
  }
}
