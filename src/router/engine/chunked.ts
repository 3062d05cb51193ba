import { hexDigit, MOST_DIGITS, MOST_EXTRA_BYTES } from "../chunk-size.ts";

/** Where in the framing of a chunked body the next byte is. */
type Control =
  | "size"
  | "sizeDigits"
  | "extension"
  | "sizeLineFeed"
  | "dataReturn"
  | "dataLineFeed"
  | "trailerStart"
  | "trailerLine"
  | "trailerLineFeed"
  | "endLineFeed";
type Phase = Control | "data" | "end" | "bad";

const CR = 0x0d;
const LF = 0x0a;
const SPACE = 0x20;
const TAB = 0x09;
const SEMICOLON = 0x3b;

/** Takes the framing out of a chunked body, in the buffer that it came in. */
export class ChunkedDecoder {
  #phase: Phase = "size";
  #left = 0;
  #digits = 0;
  #extraBytes = 0;

  /** The body is whole. */
  get isDone(): boolean {
    return this.#phase === "end";
  }

  /** What came is no chunked body. */
  get isBad(): boolean {
    return this.#phase === "bad";
  }

  /** Bytes of the last call's range that belong to nobody, as the body ended before them. */
  surplus = 0;

  /**
   * Moves the payload in `buffer[from, to)` together, to begin at `from`, and answers where it now ends. The pieces of
   * one read thus leave in one write.
   */
  decode(buffer: Buffer, from: number, to: number): number {
    let out = from;
    let at = from;
    while (at < to && this.#phase !== "end" && this.#phase !== "bad") {
      if (this.#phase !== "data") {
        this.#phase = ChunkedDecoder.#STEPS[this.#phase](this, buffer[at] ?? 0);
        at += 1;
        continue;
      }
      const length = Math.min(this.#left, to - at);
      if (out !== at) buffer.copyWithin(out, at, at + length);
      out += length;
      at += length;
      this.#left -= length;
      if (this.#left === 0) this.#phase = "dataReturn";
    }
    this.surplus = to - at;
    return out;
  }

  static readonly #STEPS: Readonly<Record<Control, (decoder: ChunkedDecoder, byte: number) => Phase>> = {
    size: (decoder, byte) => (hexDigit(byte) < 0 ? "bad" : decoder.#size(byte)),
    sizeDigits: (decoder, byte) => decoder.#size(byte),
    extension: (decoder, byte) => (byte === CR ? "sizeLineFeed" : decoder.#readOver(byte, "extension")),
    sizeLineFeed: (decoder, byte) => (byte !== LF ? "bad" : decoder.#left > 0 ? "data" : "trailerStart"),
    dataReturn: (_, byte) => (byte === CR ? "dataLineFeed" : "bad"),
    dataLineFeed: (_, byte) => (byte === LF ? "size" : "bad"),
    // Trailers are read over: their sender cannot know whether anyone downstream could take them.
    trailerStart: (decoder, byte) => (byte === CR ? "endLineFeed" : decoder.#readOver(byte, "trailerLine")),
    trailerLine: (decoder, byte) => (byte === CR ? "trailerLineFeed" : decoder.#readOver(byte, "trailerLine")),
    trailerLineFeed: (_, byte) => (byte === LF ? "trailerStart" : "bad"),
    endLineFeed: (_, byte) => (byte === LF ? "end" : "bad"),
  };

  #size(byte: number): Phase {
    const digit = hexDigit(byte);
    if (digit < 0) {
      this.#digits = 0;
      if (byte === CR) return "sizeLineFeed";
      return byte === SEMICOLON || byte === SPACE || byte === TAB ? "extension" : "bad";
    }
    this.#left = this.#digits === 0 ? digit : this.#left * 16 + digit;
    this.#digits += 1;
    return this.#digits > MOST_DIGITS ? "bad" : "sizeDigits";
  }

  #readOver(byte: number, phase: Phase): Phase {
    this.#extraBytes += 1;
    return byte === LF || this.#extraBytes > MOST_EXTRA_BYTES ? "bad" : phase;
  }
}
