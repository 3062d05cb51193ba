import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import { formatBytes } from "../core/format.ts";
import type { Bytes } from "../core/ids.ts";
import type { Result } from "../core/result.ts";
import { readAs } from "./body-type.ts";
import type { Body } from "./ask-usage.ts";
import type { BodySpans } from "./body-spans.ts";
import type { HttpExchange, RequestBody } from "./client/http-exchange.ts";
import type { ExchangeRequest } from "./context.ts";
import type { Refusal } from "./error-body.ts";
import type { RouterLimits } from "./limits.ts";
import { type BodySource, OpenBody } from "./open-body.ts";
import { isSettled, Passing } from "./passing.ts";
import type { RoutingFields, SoFar } from "./routing-fields.ts";
import { BodyScanner } from "./scan-body.ts";
import { FormScanner } from "./scan-form.ts";
import { isTranslated } from "./translate/asks.ts";

/** A request's body, or its beginning with a rest that is passed on as it comes. Pieces are as they came: nothing large is joined. */
export interface Upload extends Body {
  readonly fields: RoutingFields;
  readonly spans: BodySpans;
}

export interface UploadListener {
  /** So much has come. */
  onProgress(bytes: number): void;
  onUpload(upload: Upload): void;
  /** Nothing more is read. */
  onRefused(refusal: Refusal): void;
}

const DECODERS = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const;
type Decoder = ReturnType<(typeof DECODERS)[keyof typeof DECODERS]>;

const PLAIN: ReadonlySet<string> = new Set(["", "identity"]);

const isDecodable = (coding: string): coding is keyof typeof DECODERS => coding in DECODERS;

/** Finds what routing needs in a body as its bytes come. */
interface Scanner {
  /** What it reads, for people. */
  readonly reads: string;
  push(chunk: Buffer): void;
  finish(): Result<RoutingFields, string>;
  spans(cut?: number): BodySpans;
  soFar(): SoFar;
}

/**
 * Reads a body to its end or to the first thing wrong with it. One of onUpload and onRefused is called, once; where a rest is
 * to come after onUpload, onRefused may still follow.
 */
export function receive(
  { req, body, endpoint }: Pick<ExchangeRequest, "req" | "body" | "endpoint">,
  { bodyBytes: limit, keptBodyBytes }: Pick<RouterLimits, "bodyBytes" | "keptBodyBytes">,
  listener: UploadListener,
): void {
  const { body: type, api } = endpoint;
  // For other words all of it must be here.
  const keeps = isTranslated(api) ? Infinity : keptBodyBytes;
  const as = readAs(type, req.headers);
  if (as.kind === "refused") {
    listener.onRefused(as.refusal);
    return;
  }
  const coding = (req.headers["content-encoding"] ?? "").trim().toLowerCase();
  const scanner = as.kind === "json" ? new BodyScanner() : new FormScanner(as.boundary);
  const receiver = new Receiver({ limit, keeps, reads: scanner.reads, listener }, scanner);
  if (Number(req.headers["content-length"] ?? 0) > limit) receiver.refuseSize();
  else if (PLAIN.has(coding)) readPlain({ req, body }, receiver);
  else if (isDecodable(coding)) readEncoded({ req, body }, coding, receiver);
  else {
    const known = Object.keys(DECODERS).join(", ");
    receiver.refuse({
      code: "UNSUPPORTED_ENCODING",
      message: `The request's Content-Encoding "${coding.slice(0, 100)}" is not understood. Send the body as it is, or as one of ${known}.`,
    });
  }
}

type Incoming = Pick<HttpExchange, "req" | "body">;

function readPlain({ req, body }: Incoming, receiver: Receiver): void {
  const length = req.headers["content-length"];
  receiver.reads(body, length === undefined ? undefined : Number(length));
  body.on("data", (chunk: Buffer) => {
    receiver.push(chunk);
  });
  body.on("end", () => {
    // What a client breaks off may end as well: that it has left is told elsewhere.
    if (req.complete) receiver.end();
  });
}

function readEncoded({ req, body }: Incoming, coding: keyof typeof DECODERS, receiver: Receiver): void {
  const decoder = DECODERS[coding]();
  receiver.reads(decoder, undefined);
  decodeInto(decoder, body);
  decoder.on("data", (chunk: Buffer) => {
    receiver.push(chunk);
    if (receiver.isOver) decoder.destroy();
  });
  const isBrokenOff = (): boolean => body.readableEnded && !req.complete;
  decoder.on("end", () => {
    if (!isBrokenOff()) receiver.end();
  });
  decoder.on("error", (error: Error) => {
    if (isBrokenOff()) return;
    receiver.refuse({
      code: "BAD_REQUEST",
      message: `The body is not what its Content-Encoding ${coding} says: ${error.message}.`,
    });
  });
}

/** Whatever comes when the decoder is gone is read over. */
function decodeInto(decoder: Decoder, body: RequestBody): void {
  const goOn = (): void => void body.resume();
  decoder.on("drain", goOn);
  decoder.on("close", goOn);
  body.on("data", (chunk: Buffer) => {
    if (!decoder.destroyed && !decoder.write(chunk)) body.pause();
  });
  body.on("end", () => {
    if (!decoder.destroyed) decoder.end();
  });
}

interface Receiving {
  readonly limit: Bytes;
  readonly keeps: number;
  /** What the body is to be, for people. */
  readonly reads: string;
  readonly listener: UploadListener;
}

/** Collects the pieces and scans them as they come; or, once it is known whom to ask, passes them on. */
class Receiver {
  readonly #of: Receiving;
  /** Undefined when there is nothing more to scan: the request lives as long as its answer, and this with it. */
  #scanner: Scanner | undefined;
  #source: BodySource | undefined;
  #length: number | undefined;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #passing: Passing | undefined;
  #isDone = false;

  constructor(of: Receiving, scanner: Scanner) {
    this.#of = of;
    this.#scanner = scanner;
  }

  /** `length`: what the client says that it will send. */
  reads(source: BodySource, length: number | undefined): void {
    this.#source = source;
    this.#length = length;
  }

  get isOver(): boolean {
    return this.#isDone || this.#passing?.isOver === true;
  }

  push(chunk: Buffer): void {
    const scanner = this.#scanner;
    if (this.isOver || scanner === undefined) return;
    const { limit, keeps, listener } = this.#of;
    this.#bytes += chunk.length;
    if (this.#bytes > limit) {
      this.refuseSize();
      return;
    }
    scanner.push(chunk);
    listener.onProgress(this.#bytes);
    if (this.#passing !== undefined) this.#passOn(this.#passing, chunk, scanner.soFar());
    else {
      this.#chunks.push(chunk);
      if (this.#bytes > keeps) this.#openRest(scanner);
    }
  }

  #passOn(passing: Passing, chunk: Buffer, soFar: SoFar): void {
    const problem = passing.pass(chunk, soFar);
    if (problem !== undefined) this.#refuseBody(problem);
  }

  /** If it is known whom to ask, the rest is not held here. */
  #openRest(scanner: Scanner): void {
    const { keeps, listener } = this.#of;
    const soFar = scanner.soFar();
    if (!isSettled(soFar) || this.#source === undefined || this.#bytes === this.#length) return;
    const rest = new OpenBody(this.#source, this.#length !== undefined);
    const chunks = this.#chunks;
    this.#passing = new Passing(rest, soFar, chunks);
    this.#chunks = [];
    const bytes = this.#length ?? this.#bytes;
    listener.onUpload({ chunks, bytes, fields: soFar.fields, spans: scanner.spans(keeps), rest });
  }

  end(): void {
    const scanner = this.#scanner;
    if (this.isOver || scanner === undefined) return;
    const { listener } = this.#of;
    const fields = scanner.finish();
    if (!fields.ok) this.#refuseBody(fields.error);
    else {
      const chunks = this.#chunks;
      this.#letGo();
      if (this.#passing !== undefined) this.#passing.finish();
      else listener.onUpload({ chunks, bytes: this.#bytes, fields: fields.value, spans: scanner.spans() });
    }
  }

  #letGo(): void {
    this.#isDone = true;
    this.#chunks = [];
    this.#scanner = undefined;
  }

  #refuseBody(problem: string): void {
    const message = `The body is not the ${this.#of.reads} it should be: ${problem}.`;
    this.refuse({ code: "BAD_REQUEST", message });
  }

  refuseSize(): void {
    const message = `The body is over this router's limit of ${formatBytes(this.#of.limit)}.`;
    this.refuse({ code: "BODY_TOO_LARGE", message });
  }

  refuse(refusal: Refusal): void {
    if (this.isOver) return;
    this.#letGo();
    this.#of.listener.onRefused(refusal);
  }
}
