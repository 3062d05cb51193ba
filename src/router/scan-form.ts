import { err, ok, type Result } from "../core/result.ts";
import { type BodySpans, NO_SPANS, type Span } from "./body-spans.ts";
import type { ModelField, RoutingFields, SoFar } from "./routing-fields.ts";

/** Of a part's head or of a field that is looked at. Longer ones are none of ours. */
const LONGEST_HEAD = 16_384;
const LONGEST_VALUE = 1_024;
const HEAD_END = Buffer.from("\r\n\r\n");
const NAME = /^content-disposition:[^\r\n]*?;\s*name=(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))/im;
const FILE = /^content-disposition:[^\r\n]*?;\s*filename\*?=/im;

type Phase = "preamble" | "head" | "value" | "over";

/**
 * Finds the routing fields in a multipart form as its bytes come. Of a file nothing is held but the few bytes in which a
 * boundary may have begun.
 */
export class FormScanner {
  readonly reads = "form";
  readonly #boundary: Buffer;
  #phase: Phase = "preamble";
  #problem: string | undefined;
  /** What cannot be decided before more comes. The body's first boundary needs no line end before it. */
  #rest = Buffer.from("\r\n");
  /** Where in the body what is looked at next begins: those two bytes are before it. */
  #at = -2;
  #valueStart = 0;
  #modelSpan: Span | undefined;
  #field = "";
  #value: Buffer[] = [];
  #valueBytes = 0;
  #model: ModelField = { kind: "missing" };
  #stream = false;

  constructor(boundary: string) {
    this.#boundary = Buffer.from(`\r\n--${boundary}`, "latin1");
  }

  push(chunk: Buffer): void {
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let next = this.#step(bytes); next !== undefined; next = this.#step(bytes)) {
      bytes = bytes.subarray(next);
      this.#at += next;
    }
    const read = this.#read(bytes);
    this.#at += read;
    this.#rest = Buffer.from(bytes.subarray(read));
  }

  /** The fields, or what is wrong with the form, for people. */
  finish(): Result<RoutingFields, string> {
    if (this.#problem !== undefined) return err(this.#problem);
    if (this.#phase !== "over") return err("its last boundary is missing");
    return ok({ model: this.#model, stream: this.#stream, includeUsage: false });
  }

  soFar(): SoFar {
    const fields = { model: this.#model, stream: this.#stream, includeUsage: false };
    return { problem: this.#problem, fields, streamOptions: undefined, close: undefined };
  }

  spans(): BodySpans {
    return { ...NO_SPANS, model: this.#modelSpan, isForm: true };
  }

  /** How many bytes what comes next takes; undefined: more must come first. */
  #step(bytes: Buffer): number | undefined {
    if (this.#phase === "head") return this.#head(bytes);
    if (this.#phase === "over") return undefined;
    const at = bytes.indexOf(this.#boundary);
    const after = at + this.#boundary.length;
    // Two dashes after it end the form, a line end begins the next part.
    if (at === -1 || bytes.length < after + 2) return undefined;
    if (this.#phase === "value") {
      this.#keep(bytes.subarray(0, at));
      if (this.#field === "model") this.#modelSpan = { start: this.#valueStart, end: this.#at + at };
      this.#endField();
    }
    if (this.#problem === undefined)
      this.#phase = bytes.toString("latin1", after, after + 2) === "--" ? "over" : "head";
    // The line end stays: a part without a head begins with its empty line.
    return after;
  }

  #head(bytes: Buffer): number | undefined {
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) {
      if (bytes.length > LONGEST_HEAD) this.#fail("the head of one of its parts does not end");
      return undefined;
    }
    const head = bytes.toString("utf8", 0, end);
    const [, quoted, plain = ""] = NAME.exec(head) ?? [];
    this.#field = FILE.test(head) ? "" : (quoted ?? plain);
    this.#value = [];
    this.#valueBytes = 0;
    this.#phase = "value";
    this.#valueStart = this.#at + end + HEAD_END.length;
    return end + HEAD_END.length;
  }

  /** Bytes that can be of no boundary, so that they need not be held. */
  #read(bytes: Buffer): number {
    if (this.#phase === "head") return 0;
    if (this.#phase === "over") return bytes.length;
    const sure = Math.max(0, bytes.length - this.#boundary.length - 1);
    if (this.#phase === "value") this.#keep(bytes.subarray(0, sure));
    return sure;
  }

  /** Nothing more is looked at. */
  #fail(problem: string): void {
    this.#problem ??= problem;
    this.#phase = "over";
  }

  #keep(bytes: Buffer): void {
    if (this.#field === "") return;
    this.#valueBytes += bytes.length;
    if (this.#valueBytes <= LONGEST_VALUE) this.#value.push(Buffer.from(bytes));
  }

  #endField(): void {
    const text = this.#valueBytes > LONGEST_VALUE ? "" : Buffer.concat(this.#value).toString("utf8");
    if (this.#field === "model") {
      // Engines differ in which of two they take.
      if (this.#model.kind !== "missing") this.#fail("it names a model twice");
      this.#model = text === "" ? { kind: "unusable" } : { kind: "name", name: text };
    } else if (this.#field === "stream") this.#stream = text === "true" || text === "1";
  }
}
