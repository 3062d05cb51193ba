import { err, ok, type Result } from "../core/result.ts";
import { INCLUDE_USAGE, matters, plainKey } from "./body-keys.ts";
import { type BodySpans, SpanRecorder } from "./body-spans.ts";
import { NUMBER_ENDS, numberStart, type NumberState, numberStep } from "./json-number.ts";
import type { ModelField, RoutingFields, SoFar } from "./routing-fields.ts";

/** No client nests deeper, and an engine's parser that recurses must not meet what does. */
export const DEEPEST_NESTING = 512;
/** Bytes of a key or a model name that are looked at. Longer ones are none of ours. */
const LONGEST_CAPTURE = 1024;
/** So far a string is walked byte by byte: the call into native code for a search pays off only beyond. */
const WALK = 64;

const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;

type Expect = "value" | "valueOrEnd" | "keyOrEnd" | "key" | "colon" | "next" | "nothing";
/** What the string being read is for. */
type StringUse = "key" | "field" | "skip";
type Token =
  | { readonly kind: "none" }
  | { readonly kind: "string" }
  | { readonly kind: "number" }
  | { readonly kind: "literal"; readonly word: "true" | "false" | "null" };

const NONE: Token = { kind: "none" };
const STRING: Token = { kind: "string" };
const NUMBER: Token = { kind: "number" };
const LITERALS: Readonly<Record<number, Token>> = {
  0x74: { kind: "literal", word: "true" },
  0x66: { kind: "literal", word: "false" },
  0x6e: { kind: "literal", word: "null" },
};

/**
 * Finds the routing fields in a JSON body as its bytes come, without building anything of it. Structure, numbers and
 * words are checked whole; inside strings only escaped quotes matter, so a body with a bad escape or a raw control
 * character passes here and is the engine's to refuse.
 */
export class BodyScanner {
  readonly reads = "JSON object";
  #expect: Expect = "value";
  #token: Token = NONE;
  #problem: string | undefined;
  #offset = 0;
  #depth = 0;
  /** 1 where the enclosing value is an object, by depth. */
  readonly #isObject: (0 | 1)[] = [0];

  #use: StringUse = "skip";
  /** The chunk ended in a backslash, so the next byte is not what it seems. */
  #escaped = false;
  /** The beginning of a key or name that began in an earlier chunk. */
  #kept: Buffer[] = [];
  #keptBytes = 0;
  #number: NumberState = "zero";
  #literalAt = 0;

  /** The key in force at depth 1, and at depth 2 inside stream_options; "" for those that do not matter. */
  #key = "";
  /** The key of the value at depth 1 that is open. */
  #outer = "";
  #inStreamOptions = false;
  readonly #recorder = new SpanRecorder();
  #model: ModelField = { kind: "missing" };
  #stream = false;
  #includeUsage = false;

  push(chunk: Buffer): void {
    let at = 0;
    while (at < chunk.length && this.#problem === undefined) {
      switch (this.#token.kind) {
        case "string":
          at = this.#inString(chunk, at);
          break;
        case "number":
          at = this.#inNumber(chunk, at);
          break;
        case "literal":
          at = this.#inLiteral(chunk, at, this.#token.word);
          break;
        case "none":
          at = isSpace(chunk[at]) ? at + 1 : this.#between(chunk[at] ?? 0, at);
          break;
      }
    }
    this.#offset += chunk.length;
  }

  /** The fields, or what is wrong with the JSON, for people. */
  finish(): Result<RoutingFields, string> {
    if (this.#problem !== undefined) return err(this.#problem);
    if (this.#expect === "value" && this.#offset === 0) return err("the body is empty");
    if (this.#expect !== "nothing" || this.#token.kind !== "none") return err("the JSON ends too early");
    return ok({ model: this.#model, stream: this.#stream, includeUsage: this.#includeUsage });
  }

  soFar(): SoFar {
    return {
      problem: this.#problem,
      fields: { model: this.#model, stream: this.#stream, includeUsage: this.#includeUsage },
      streamOptions: this.#recorder.streamOptions,
      close: this.#expect === "nothing" ? this.#recorder.close : undefined,
    };
  }

  /** Where things stand; of a body that has not come to its end, up to `cut`. */
  spans(cut?: number): BodySpans {
    return cut === undefined ? this.#recorder.spans() : this.#recorder.spansBefore(cut);
  }

  #fail(problem: string, at: number): number {
    this.#problem ??= `${problem} at byte ${String(this.#offset + at)}`;
    return at + 1;
  }

  /** One byte of structure, or the first of a token. Answers where to go on. */
  #between(byte: number, at: number): number {
    switch (this.#expect) {
      case "value":
        return this.#startValue(byte, at);
      case "valueOrEnd":
        return this.#valueOrEnd(byte, at);
      case "keyOrEnd":
        return byte === CLOSE_OBJECT ? this.#close(byte, at) : this.#startKey(byte, at);
      case "key":
        return this.#startKey(byte, at);
      case "colon":
        return this.#colon(byte, at);
      case "next":
        return byte === COMMA ? this.#comma(at) : this.#close(byte, at);
      case "nothing":
        return this.#fail("there is more after the JSON's end", at);
    }
  }

  #valueOrEnd(byte: number, at: number): number {
    return byte === CLOSE_LIST ? this.#close(byte, at) : this.#startValue(byte, at);
  }

  #colon(byte: number, at: number): number {
    if (byte !== COLON) return this.#fail("a colon is missing", at);
    this.#expect = "value";
    return at + 1;
  }

  #comma(at: number): number {
    this.#expect = this.#isObject[this.#depth] === 1 ? "key" : "value";
    return at + 1;
  }

  /** Whether keys of the object at hand may be routing fields. */
  #isWatched(): boolean {
    return this.#depth === 1 || (this.#depth === 2 && this.#inStreamOptions);
  }

  #startKey(byte: number, at: number): number {
    if (byte !== QUOTE) return this.#fail("a key is missing", at);
    if (this.#inStreamOptions && this.#depth === 2) this.#recorder.option();
    return this.#startString(this.#isWatched() ? "key" : "skip", at);
  }

  #startString(use: StringUse, at: number): number {
    this.#token = STRING;
    this.#use = use;
    if (this.#keptBytes > 0) this.#kept = [];
    this.#keptBytes = 0;
    return at + 1;
  }

  #startValue(byte: number, at: number): number {
    if (this.#depth === 0 && byte !== OPEN_OBJECT) return this.#fail("the JSON is not an object", at);
    const isOurs = this.#key !== "" && this.#isWatched();
    if (isOurs) this.#forget(this.#offset + at);
    if (byte === QUOTE) return this.#startString(isOurs && TEXT_KEYS.has(this.#key) ? "field" : "skip", at);
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) return this.#open(byte === OPEN_OBJECT, at);
    return this.#startScalar(byte, at);
  }

  #startScalar(byte: number, at: number): number {
    const number = numberStart(byte);
    const token = number === undefined ? LITERALS[byte] : NUMBER;
    if (token === undefined) return this.#fail("a value is missing", at);
    this.#token = token;
    this.#number = number ?? "zero";
    this.#literalAt = 1;
    return at + 1;
  }

  /** A value begins whose key may have come before: whatever an earlier one said is void. */
  #forget(at: number): void {
    if (this.#key === "model") this.#model = { kind: "unusable" };
    else if (this.#key === "stream") this.#stream = false;
    else if (this.#key === "include_usage" || this.#key === "stream_options") this.#includeUsage = false;
    if (this.#key === "include_usage") this.#recorder.includeBegins(at);
    else this.#recorder.begin(this.#key, at);
  }

  #open(isObject: boolean, at: number): number {
    if (this.#depth === DEEPEST_NESTING)
      return this.#fail(`the JSON is nested deeper than ${String(DEEPEST_NESTING)}`, at);
    if (this.#depth === 1) {
      this.#outer = this.#key;
      this.#inStreamOptions = isObject && this.#key === "stream_options";
    }
    this.#depth += 1;
    this.#isObject[this.#depth] = isObject ? 1 : 0;
    this.#expect = isObject ? "keyOrEnd" : "valueOrEnd";
    if (this.#depth <= 2) this.#key = "";
    return at + 1;
  }

  #close(byte: number, at: number): number {
    const closer = this.#isObject[this.#depth] === 1 ? CLOSE_OBJECT : CLOSE_LIST;
    if (byte !== closer) return this.#fail("a comma or the end of an object or list is missing", at);
    this.#depth -= 1;
    if (this.#depth === 1) {
      this.#inStreamOptions = false;
      this.#key = this.#outer;
    } else if (this.#depth === 0) this.#recorder.closed(this.#offset + at);
    this.#endValue(at + 1, byte === CLOSE_OBJECT);
    return at + 1;
  }

  /** `at`: behind the value, in the chunk at hand. */
  #endValue(at: number, isObject = false): void {
    if (this.#depth === 1) this.#endOuter(this.#offset + at, isObject);
    else if (this.#depth === 2) this.#endInner(this.#offset + at);
    this.#token = NONE;
    this.#expect = this.#depth === 0 ? "nothing" : "next";
  }

  #endOuter(at: number, isObject: boolean): void {
    if (this.#key !== "") this.#recorder.end(this.#key, at, isObject);
    this.#key = "";
    this.#outer = "";
  }

  #endInner(at: number): void {
    if (this.#inStreamOptions) {
      if (this.#key !== "") this.#recorder.includeEnds(at);
      this.#key = "";
    } else if (this.#outer !== "" && this.#isObject[2] === 0) this.#recorder.element(this.#outer, at);
  }

  #inNumber(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      const next = numberStep(this.#number, chunk[at] ?? 0);
      if (next !== undefined) {
        this.#number = next;
        continue;
      }
      if (!NUMBER_ENDS.has(this.#number)) return this.#fail("a number is malformed", at);
      this.#endValue(at);
      return at;
    }
    return chunk.length;
  }

  #inLiteral(chunk: Buffer, from: number, word: "true" | "false" | "null"): number {
    let at = from;
    for (; at < chunk.length && this.#literalAt < word.length; at++, this.#literalAt++) {
      if (chunk[at] !== word.charCodeAt(this.#literalAt)) return this.#fail(`"${word}" is misspelt`, at);
    }
    if (this.#literalAt < word.length) return at;
    if (word === "true") this.#sayYes();
    this.#endValue(at);
    return at;
  }

  #sayYes(): void {
    if (this.#depth === 1 && this.#key === "stream") this.#stream = true;
    if (this.#depth === 2 && this.#key === "include_usage") this.#includeUsage = true;
  }

  #inString(chunk: Buffer, from: number): number {
    const end = this.#findClosingQuote(chunk, from);
    if (end === chunk.length) {
      if (this.#use !== "skip") this.#keep(chunk.subarray(from));
      return end;
    }
    if (this.#use === "skip") this.#endString(end + 1);
    else this.#endCapture(chunk, from, end);
    return end + 1;
  }

  /** Where the string ends, or the chunk's length. */
  #findClosingQuote(chunk: Buffer, from: number): number {
    let at = this.#escaped ? from + 1 : from;
    this.#escaped = false;
    for (;;) {
      const stop = Math.min(chunk.length, at + WALK);
      while (at < stop) {
        const byte = chunk[at];
        if (byte === QUOTE) return at;
        at += byte === BACKSLASH ? 2 : 1;
      }
      if (at >= chunk.length) {
        this.#escaped = at > chunk.length;
        return chunk.length;
      }
      const quote = chunk.indexOf(QUOTE, at);
      const isEscaped = endsEscaped(chunk, at, quote === -1 ? chunk.length : quote);
      if (quote === -1) {
        this.#escaped = isEscaped;
        return chunk.length;
      }
      if (!isEscaped) return quote;
      at = quote + 1;
    }
  }

  /** The string goes on in the next chunk. */
  #keep(part: Buffer): void {
    this.#keptBytes += part.length;
    if (this.#keptBytes <= LONGEST_CAPTURE) this.#kept.push(Buffer.from(part));
  }

  #endString(at: number): void {
    if (this.#expect === "key" || this.#expect === "keyOrEnd") {
      this.#token = NONE;
      this.#expect = "colon";
    } else this.#endValue(at);
  }

  #endCapture(chunk: Buffer, from: number, end: number): void {
    if (this.#use === "key" && this.#keptBytes === 0) {
      const key = plainKey(chunk, from, end);
      if (key !== undefined) {
        this.#key = this.#hereOf(key);
        this.#endString(end + 1);
        return;
      }
    }
    const text = this.#keptBytes === 0 ? textOf(chunk, from, end) : this.#keptText(chunk.subarray(from, end));
    if (text === undefined) {
      this.#fail("a string holds a bad escape or a raw control character", end);
      return;
    }
    if (this.#use === "key") this.#key = this.#hereOf(matters(text) ? text : "");
    else if (this.#key !== "model") this.#recorder.text(this.#key, text);
    else if (text !== "") this.#model = { kind: "name", name: text };
    this.#endString(end + 1);
  }

  #keptText(rest: Buffer): string | undefined {
    this.#keep(rest);
    if (this.#keptBytes > LONGEST_CAPTURE) return "";
    const whole = Buffer.concat(this.#kept);
    return textOf(whole, 0, whole.length);
  }

  /** A key that matters, or "" where it does not stand at its depth. */
  #hereOf(key: string): string {
    return (key === INCLUDE_USAGE) === (this.#depth === 2) ? key : "";
  }
}

/** Those of which the text counts, not only the place. */
const TEXT_KEYS: ReadonlySet<string> = new Set(["model", "prompt_cache_key", "user"]);

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Whether an odd number of backslashes stands before `end`. */
function endsEscaped(chunk: Buffer, from: number, end: number): boolean {
  let run = end;
  while (run > from && chunk[run - 1] === BACKSLASH) run -= 1;
  return (end - run) % 2 === 1;
}

const NEEDS_CARE = /[\\\u0000-\u001f]/;

/** What a JSON string's inside says: "" when it is longer than any of ours, undefined when it is no string. */
function textOf(bytes: Buffer, from: number, end: number): string | undefined {
  if (end - from > LONGEST_CAPTURE) return "";
  const inside = bytes.toString("utf8", from, end);
  if (!NEEDS_CARE.test(inside)) return inside;
  try {
    return JSON.parse(`"${inside}"`) as string;
  } catch {
    return undefined;
  }
}
