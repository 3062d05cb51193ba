import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib";
import { formatBytes } from "../core/format.ts";
import type { Bytes } from "../core/ids.ts";
import type { Result } from "../core/result.ts";
import { type BodyType, readAs } from "./body-type.ts";
import type { BodySpans } from "./body-spans.ts";
import type { HttpExchange } from "./client/http-exchange.ts";
import type { Refusal } from "./error-body.ts";
import { BodyScanner, type RoutingFields } from "./scan-body.ts";
import { FormScanner } from "./scan-form.ts";

/** A request's body, whole. The pieces are as they came: nothing large is joined. */
export interface Upload {
  readonly chunks: readonly Buffer[];
  readonly bytes: number;
  readonly fields: RoutingFields;
  readonly spans: BodySpans;
}

export interface UploadListener {
  onProgress(): void;
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
const PLAIN: ReadonlySet<string> = new Set(["", "identity"]);

const isDecodable = (coding: string): coding is keyof typeof DECODERS => coding in DECODERS;

/** Finds what routing needs in a body as its bytes come. */
interface Scanner {
  /** What it reads, for people. */
  readonly reads: string;
  push(chunk: Buffer): void;
  finish(): Result<RoutingFields, string>;
  spans(): BodySpans;
}

interface Expected {
  readonly type: BodyType;
  /** Of the body after its Content-Encoding is undone. */
  readonly limit: Bytes;
}

/** Reads a body to its end or to the first thing wrong with it. One of onUpload and onRefused is called, once. */
export function receive(
  { req, body }: Pick<HttpExchange, "req" | "body">,
  { type, limit }: Expected,
  listener: UploadListener,
): void {
  const as = readAs(type, req.headers);
  if (as.kind === "refused") {
    listener.onRefused(as.refusal);
    return;
  }
  const coding = (req.headers["content-encoding"] ?? "").trim().toLowerCase();
  const scanner = as.kind === "json" ? new BodyScanner() : new FormScanner(as.boundary);
  const receiver = new Receiver(limit, scanner, listener);
  if (Number(req.headers["content-length"] ?? 0) > limit) receiver.refuseSize();
  else if (PLAIN.has(coding)) readPlain(body, receiver);
  else if (isDecodable(coding)) readEncoded(body, coding, receiver);
  else {
    const known = Object.keys(DECODERS).join(", ");
    receiver.refuse({
      code: "UNSUPPORTED_ENCODING",
      message: `The request's Content-Encoding "${coding.slice(0, 100)}" is not understood. Send the body as it is, or as one of ${known}.`,
    });
  }
}

function readPlain(body: Readable, receiver: Receiver): void {
  body.on("data", (chunk: Buffer) => {
    receiver.push(chunk);
  });
  body.on("end", () => {
    receiver.end();
  });
}

function readEncoded(body: Readable, coding: keyof typeof DECODERS, receiver: Receiver): void {
  const decoder = DECODERS[coding]();
  body.pipe(decoder);
  decoder.on("data", (chunk: Buffer) => {
    receiver.push(chunk);
    if (!receiver.isOver) return;
    body.unpipe(decoder);
    decoder.destroy();
  });
  decoder.on("end", () => {
    receiver.end();
  });
  decoder.on("error", (error: Error) => {
    body.unpipe(decoder);
    receiver.refuse({
      code: "BAD_REQUEST",
      message: `The body is not what its Content-Encoding ${coding} says: ${error.message}.`,
    });
  });
}

/** Collects the pieces and scans them as they come. */
class Receiver {
  readonly #limit: Bytes;
  readonly #listener: UploadListener;
  readonly #scanner: Scanner;
  #chunks: Buffer[] = [];
  #bytes = 0;
  isOver = false;

  constructor(limit: Bytes, scanner: Scanner, listener: UploadListener) {
    this.#limit = limit;
    this.#scanner = scanner;
    this.#listener = listener;
  }

  push(chunk: Buffer): void {
    if (this.isOver) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#limit) {
      this.refuseSize();
      return;
    }
    this.#chunks.push(chunk);
    this.#scanner.push(chunk);
    this.#listener.onProgress();
  }

  end(): void {
    if (this.isOver) return;
    const fields = this.#scanner.finish();
    if (!fields.ok) {
      this.refuse({
        code: "BAD_REQUEST",
        message: `The body is not the ${this.#scanner.reads} it should be: ${fields.error}.`,
      });
      return;
    }
    this.isOver = true;
    this.#listener.onUpload({
      chunks: this.#chunks,
      bytes: this.#bytes,
      fields: fields.value,
      spans: this.#scanner.spans(),
    });
  }

  refuseSize(): void {
    this.refuse({
      code: "BODY_TOO_LARGE",
      message: `The body is over this router's limit of ${formatBytes(this.#limit)}.`,
    });
  }

  refuse(refusal: Refusal): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#chunks = [];
    this.#listener.onRefused(refusal);
  }
}
