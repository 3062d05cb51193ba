import type { ClientHeaders } from "../client-headers.ts";
import type { ClientRequest, RequestBody } from "../http-exchange.ts";
import { ChunkedBody } from "./chunked-body.ts";
import type { RequestHead } from "./request-head.ts";

/** Whose connection it came on. */
export interface RequestSource {
  /** It can take more of its body. */
  onFlow(): void;
  destroy(): void;
}

/** So much of a read, but no more, a piece of it keeps in memory rather than being copied out. */
const PINNED = 2_048;

/** A request over HTTP/1.1 and its body, which its connection reads into it. */
export class Http1Request implements ClientRequest, RequestBody {
  readonly method: string;
  readonly url: string;
  readonly headers: ClientHeaders;
  readonly rawHeaders: readonly string[];
  /** All of the body has come. */
  complete: boolean;
  /** And has been told. */
  readableEnded = false;
  readonly #source: RequestSource;
  readonly #chunks: ChunkedBody | undefined;
  /** Of a body whose length is known. */
  #left = 0;
  #isFlowing = false;
  #onData: ((chunk: Buffer) => void) | undefined;
  #onEnd: (() => void) | undefined;
  #onClose: (() => void) | undefined;

  /** `here`: bytes behind the head that have come with it. */
  constructor(head: RequestHead, source: RequestSource, here: number) {
    this.method = head.method;
    this.url = head.target;
    this.headers = head.headers;
    this.rawHeaders = head.rawHeaders;
    this.#source = source;
    if (head.framing.kind === "chunked") this.#chunks = new ChunkedBody();
    else this.#left = head.framing.bytes;
    this.complete = this.#chunks === undefined && this.#left <= here;
  }

  on(event: "data", listener: (chunk: Buffer) => void): void;
  on(event: "end", listener: () => void): void;
  on(event: "data" | "end", listener: ((chunk: Buffer) => void) | (() => void)): void {
    if (event === "data") {
      this.#onData = listener;
      this.resume();
    } else this.once(event, listener as () => void);
  }

  once(event: "end" | "close", listener: () => void): void {
    if (event === "end") this.#onEnd = both(this.#onEnd, listener);
    else this.#onClose = both(this.#onClose, listener);
  }

  pause(): void {
    this.#isFlowing = false;
  }

  resume(): void {
    if (this.#isFlowing) return;
    this.#isFlowing = true;
    this.#source.onFlow();
  }

  destroy(): void {
    this.#source.destroy();
  }

  /** Somebody takes what comes. */
  get isFlowing(): boolean {
    return this.#isFlowing;
  }

  /** It has its answer: what still comes of it is read over. */
  readOver(): void {
    this.#onData = undefined;
    this.#isFlowing = true;
  }

  /** Takes its part of the bytes from `at` on, and answers where that ends; undefined: they are no body. */
  read(bytes: Buffer, at: number): number | undefined {
    if (this.#chunks !== undefined) return this.#readChunks(this.#chunks, bytes, at);
    const to = Math.min(at + this.#left, bytes.length);
    this.#left -= to - at;
    this.#tell(bytes, at, to);
    if (this.#left === 0) this.#end();
    return to;
  }

  #readChunks(chunks: ChunkedBody, bytes: Buffer, at: number): number | undefined {
    const to = chunks.decode(bytes, at, bytes.length);
    if (chunks.isBad) return undefined;
    this.#tell(bytes, at, to);
    if (chunks.isDone) this.#end();
    return chunks.readTo;
  }

  #tell(bytes: Buffer, from: number, to: number): void {
    if (to === from || this.#onData === undefined) return;
    const isSmall = bytes.length - (to - from) > PINNED;
    this.#onData(isSmall ? copyOf(bytes, from, to) : bytes.subarray(from, to));
  }

  #end(): void {
    this.complete = true;
    this.readableEnded = true;
    const onEnd = this.#onEnd;
    // The answer may take long: whoever read the body need not be kept that long.
    this.#onData = undefined;
    this.#onEnd = undefined;
    onEnd?.();
  }

  /** Its connection is gone. */
  onGone(): void {
    this.#onClose?.();
  }
}

/** In memory of its own: a pool would be kept whole as well. */
function copyOf(bytes: Buffer, from: number, to: number): Buffer {
  const copy = Buffer.allocUnsafeSlow(to - from);
  bytes.copy(copy, 0, from, to);
  return copy;
}

/** There is hardly ever more than one. */
const both = (before: (() => void) | undefined, listener: () => void): (() => void) =>
  before === undefined
    ? listener
    : () => {
        before();
        listener();
      };
