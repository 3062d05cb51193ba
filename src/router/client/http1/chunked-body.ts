import { hexDigit, MOST_DIGITS, MOST_EXTRA_BYTES } from "../../chunk-size.ts";
import { CR, LF, TOKEN, VALUE } from "../../characters.ts";
import { Fields } from "./fields.ts";

/** Where in the framing of a chunked body the next byte is. */
type Control =
  | "size"
  | "sizeDigits"
  | "extensionStart"
  | "extensionName"
  | "extensionValueStart"
  | "extensionValue"
  | "extensionQuoted"
  | "extensionQuoteEnd"
  | "sizeLineFeed"
  | "dataReturn"
  | "dataLineFeed"
  | "trailers";
type Phase = Control | "data" | "end" | "bad";

const SEMICOLON = 0x3b;
const EQUALS = 0x3d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What would change how the message is read had its sender said it in time. */
const NOT_IN_TRAILERS: ReadonlySet<string> = new Set([
  "connection",
  "content-length",
  "host",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Takes the framing out of a client's chunked body, in the buffer that it came in. It is stricter than what engines' answers
 * are read with: what two programs may read in two ways is how a request is hidden in another.
 */
export class ChunkedBody {
  #phase: Phase = "size";
  #left = 0;
  #digits = 0;
  #extraBytes = 0;
  #trailers = "";

  /** The body is whole. */
  get isDone(): boolean {
    return this.#phase === "end";
  }

  /** What came is no chunked body. */
  get isBad(): boolean {
    return this.#phase === "bad";
  }

  /** Of the last call's range, where the framing was read to: what follows belongs to the next request. */
  readTo = 0;

  /**
   * Moves the payload in `buffer[from, to)` together, to begin at `from`, and answers where it now ends. The pieces of
   * one read thus leave in one write.
   */
  decode(buffer: Buffer, from: number, to: number): number {
    let out = from;
    let at = from;
    while (at < to && this.#phase !== "end" && this.#phase !== "bad") {
      if (this.#phase !== "data") {
        this.#phase = ChunkedBody.#STEPS[this.#phase](this, buffer[at] ?? 0);
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
    this.readTo = at;
    return out;
  }

  static readonly #STEPS: Readonly<Record<Control, (body: ChunkedBody, byte: number) => Phase>> = {
    size: (body, byte) => (hexDigit(byte) < 0 ? "bad" : body.#size(byte)),
    sizeDigits: (body, byte) => body.#size(byte),
    extensionStart: (body, byte) => (TOKEN[byte] === 1 ? body.#extra("extensionName") : "bad"),
    extensionName: (body, byte) =>
      byte === EQUALS ? body.#extra("extensionValueStart") : body.#extension(byte, "extensionName"),
    extensionValueStart: (body, byte) => {
      if (byte === QUOTE) return body.#extra("extensionQuoted");
      return TOKEN[byte] === 1 ? body.#extra("extensionValue") : "bad";
    },
    extensionValue: (body, byte) => body.#extension(byte, "extensionValue"),
    extensionQuoted: (body, byte) => {
      if (byte === QUOTE) return body.#extra("extensionQuoteEnd");
      return VALUE[byte] === 1 && byte !== BACKSLASH ? body.#extra("extensionQuoted") : "bad";
    },
    extensionQuoteEnd: (body, byte) => body.#extension(byte, "bad"),
    sizeLineFeed: (body, byte) => (byte !== LF ? "bad" : body.#left > 0 ? "data" : "trailers"),
    dataReturn: (_, byte) => (byte === CR ? "dataLineFeed" : "bad"),
    dataLineFeed: (_, byte) => (byte === LF ? "size" : "bad"),
    trailers: (body, byte) => body.#trailer(byte),
  };

  #size(byte: number): Phase {
    const digit = hexDigit(byte);
    if (digit < 0) {
      this.#digits = 0;
      if (byte === CR) return "sizeLineFeed";
      return byte === SEMICOLON ? "extensionStart" : "bad";
    }
    this.#left = this.#digits === 0 ? digit : this.#left * 16 + digit;
    this.#digits += 1;
    return this.#digits > MOST_DIGITS ? "bad" : "sizeDigits";
  }

  #extension(byte: number, phase: Phase): Phase {
    if (byte === CR) return "sizeLineFeed";
    if (byte === SEMICOLON) return this.#extra("extensionStart");
    return TOKEN[byte] === 1 ? this.#extra(phase) : "bad";
  }

  #extra(phase: Phase): Phase {
    this.#extraBytes += 1;
    return this.#extraBytes > MOST_EXTRA_BYTES ? "bad" : phase;
  }

  /** They are held to the rules of headers and then dropped: their sender cannot know whether anyone would take them. */
  #trailer(byte: number): Phase {
    this.#trailers += String.fromCharCode(byte);
    if (byte !== LF) return this.#extra("trailers");
    if (!this.#trailers.endsWith("\r\n")) return "bad";
    if (this.#trailers !== "\r\n" && !this.#trailers.endsWith("\r\n\r\n")) return this.#extra("trailers");
    return areTrailers(this.#trailers.slice(0, -2)) ? "end" : "bad";
  }
}

function areTrailers(text: string): boolean {
  const fields = new Fields();
  fields.read(text, 0, text.length);
  const names = fields.raw.filter((_, index) => index % 2 === 0);
  return fields.problem === undefined && !names.some((name) => NOT_IN_TRAILERS.has(name.toLowerCase()));
}
