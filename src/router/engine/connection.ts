import { JOIN_BYTES } from "../../platform/outbox.ts";
import { type TcpAddress, TcpConnection, type TcpListener } from "../../platform/tcp.ts";
import type { FailureKind } from "../../routing/retry.ts";
import type { BodySink } from "../open-body.ts";
import { findHead } from "../header-lines.ts";
import type { Piece } from "../piece.ts";
import { ChunkedDecoder } from "./chunked.ts";
import { parseResponseHead, type ResponseHead } from "./response-head.ts";

export interface EngineFailure {
  readonly kind: FailureKind;
  /** For the log and the answer: "ECONNREFUSED", "its status line is no HTTP/1.1". */
  readonly detail: string;
}

/** Who asked. Ends with exactly one of onEnd and onFailure, unless the connection is dropped first. */
export interface AnswerListener {
  onConnected(): void;
  onHead(head: ResponseHead): void;
  /** The bytes are the listener's to keep. */
  onBody(piece: Piece): void;
  /** The answer is whole; with it come its last bytes, if the same read brought some. */
  onEnd(last: Piece): void;
  /** One read has been handled whole: what has no body yet can be flushed. */
  onReadDone(): void;
  onFailure(failure: EngineFailure): void;
}

/** Who keeps the connection between requests. */
export interface ConnectionOwner {
  onIdle(connection: EngineConnection, keepAliveSeconds: number | undefined): void;
  onGone(connection: EngineConnection): void;
}

export interface OutgoingRequest {
  /** Latin-1, with its empty line. */
  readonly head: string;
  readonly body: readonly Buffer[];
  /** More of the body comes by `sendMore`, until `finish`. */
  readonly isOpen?: boolean;
}

/** A body whose end can be seen, so that another answer can follow on the same connection. */
interface Delimited {
  readonly listener: AnswerListener;
  readonly head: ResponseHead;
}

type Reading =
  | { readonly kind: "nothing" }
  /** `begun`: bytes of a head that one read did not bring whole. */
  | { readonly kind: "head"; readonly listener: AnswerListener; readonly begun: Buffer | undefined }
  | (Delimited & { readonly kind: "length"; left: number })
  | (Delimited & { readonly kind: "chunked"; readonly decoder: ChunkedDecoder })
  | { readonly kind: "untilClose"; readonly listener: AnswerListener }
  | { readonly kind: "gone" };

const LONGEST_HEAD = 65_536;
const LINE_END = "\r\n";
const HEAD_BEGIN = "HTTP/1.";

/** One connection to an engine: a request, its answer, and again. Never two at once. */
export class EngineConnection implements TcpListener, BodySink {
  readonly #owner: ConnectionOwner;
  readonly #tcp: TcpConnection;
  #reading: Reading = { kind: "nothing" };
  #isConnected = false;
  #requests = 0;
  /** The request is not whole yet. */
  #isSending = false;

  constructor(address: TcpAddress, owner: ConnectionOwner) {
    this.#owner = owner;
    this.#tcp = new TcpConnection(address, this);
  }

  send(request: OutgoingRequest, listener: AnswerListener): void {
    this.#requests += 1;
    this.#isSending = request.isOpen === true;
    this.#reading = { kind: "head", listener, begun: undefined };
    this.#tcp.send(request.head, request.body);
    if (this.#isConnected) listener.onConnected();
  }

  sendMore(pieces: readonly Buffer[]): boolean {
    return this.#reading.kind === "gone" || this.#tcp.write(pieces);
  }

  onceDrained(then: () => void): void {
    this.#tcp.onceDrained(then);
  }

  finish(): void {
    this.#isSending = false;
  }

  pause(): void {
    this.#tcp.pause();
  }

  resume(): void {
    this.#tcp.resume();
  }

  /** Closes it whatever it is doing; its listener hears no more of it. For an engine this is how a request is cancelled. */
  drop(): void {
    if (this.#reading.kind === "gone") return;
    this.#reading = { kind: "gone" };
    this.#tcp.destroy();
    this.#owner.onGone(this);
  }

  onConnect(): void {
    this.#isConnected = true;
    if (this.#reading.kind === "head") this.#reading.listener.onConnected();
  }

  onData(shared: Buffer, length: number): void {
    const reading = this.#reading;
    switch (reading.kind) {
      case "gone":
        return;
      case "nothing":
        // Bytes that answer no request: whatever follows could be taken for the next one's answer.
        this.drop();
        return;
      case "head":
        this.#readHead(reading.begun, shared.subarray(0, length));
        reading.listener.onReadDone();
        return;
      case "length":
      case "chunked":
      case "untilClose":
        this.#readBody(shared, 0, length);
        reading.listener.onReadDone();
    }
  }

  onEnd(): void {
    this.#closed(undefined);
  }

  onClose(code: string | undefined): void {
    this.#closed(code);
  }

  #closed(code: string | undefined): void {
    const reading = this.#reading;
    switch (reading.kind) {
      case "gone":
        return;
      case "nothing":
        this.drop();
        return;
      case "head":
        this.#fail(this.#failureBeforeHead(reading.begun !== undefined, code));
        return;
      case "untilClose":
        if (code !== undefined) this.#fail({ kind: "broke", detail: code });
        else {
          this.drop();
          reading.listener.onEnd("");
        }
        return;
      case "length":
      case "chunked":
        this.#fail({ kind: "broke", detail: code ?? "the engine closed in the middle of its answer" });
    }
  }

  #failureBeforeHead(hasBegun: boolean, code: string | undefined): EngineFailure {
    if (!this.#isConnected) return { kind: "refused", detail: code ?? "closed while connecting" };
    if (this.#requests > 1 && !hasBegun) return { kind: "stale", detail: code ?? "closed while idle" };
    return { kind: "reset", detail: code ?? "the engine closed without an answer" };
  }

  #fail(failure: EngineFailure): void {
    const reading = this.#reading;
    this.drop();
    if ("listener" in reading) reading.listener.onFailure(failure);
  }

  #readHead(begun: Buffer | undefined, read: Buffer): void {
    const bytes = begun === undefined ? read : Buffer.concat([begun, read]);
    const found = findHead(bytes, 0);
    const begin = found?.text ?? bytes.toString("latin1", 0, HEAD_BEGIN.length);
    if (!begin.startsWith(HEAD_BEGIN) && !HEAD_BEGIN.startsWith(begin)) {
      this.#fail({ kind: "garbage", detail: "it does not speak HTTP/1.1" });
      return;
    }
    if (found === undefined) this.#keepHead(bytes);
    else this.#parseHead(bytes, found.text, found.length + LINE_END.length);
  }

  #keepHead(bytes: Buffer): void {
    if (bytes.length > LONGEST_HEAD) this.#fail({ kind: "garbage", detail: "its answer's head does not end" });
    else if (this.#reading.kind === "head") this.#reading = { ...this.#reading, begun: Buffer.from(bytes) };
  }

  /** `to`: where its empty line begins. */
  #parseHead(bytes: Buffer, text: string, to: number): void {
    const parsed = parseResponseHead(text, to);
    if (!parsed.ok) {
      this.#fail({ kind: "garbage", detail: parsed.error });
      return;
    }
    const from = to + LINE_END.length;
    if (parsed.value.kind === "interim") {
      if (this.#reading.kind === "head") this.#reading = { ...this.#reading, begun: undefined };
      if (from < bytes.length) this.#readHead(undefined, bytes.subarray(from));
      return;
    }
    this.#begin(parsed.value.head);
    // The listener may have dropped the connection over the head.
    if (this.#reading.kind !== "gone" && this.#reading.kind !== "nothing") this.#readBody(bytes, from, bytes.length);
  }

  #begin(head: ResponseHead): void {
    if (this.#reading.kind !== "head") return;
    const { listener } = this.#reading;
    switch (head.framing.kind) {
      case "none":
        this.#reading = { kind: "length", listener, head, left: 0 };
        break;
      case "length":
        this.#reading = { kind: "length", listener, head, left: head.framing.bytes };
        break;
      case "chunked":
        this.#reading = { kind: "chunked", listener, head, decoder: new ChunkedDecoder() };
        break;
      case "untilClose":
        this.#reading = { kind: "untilClose", listener };
        break;
    }
    listener.onHead(head);
  }

  #readBody(bytes: Buffer, from: number, to: number): void {
    const reading = this.#reading;
    if (reading.kind === "length") {
      const take = Math.min(reading.left, to - from);
      reading.left -= take;
      const piece = pieceOf(bytes, from, from + take);
      if (reading.left === 0) this.#end(reading, piece, to - from - take);
      else if (piece.length > 0) reading.listener.onBody(piece);
    } else if (reading.kind === "chunked") {
      const end = reading.decoder.decode(bytes, from, to);
      if (reading.decoder.isBad) {
        this.#fail({ kind: "broke", detail: "its chunks are malformed" });
        return;
      }
      const piece = pieceOf(bytes, from, end);
      if (reading.decoder.isDone) this.#end(reading, piece, reading.decoder.surplus);
      else if (piece.length > 0) reading.listener.onBody(piece);
    } else if (reading.kind === "untilClose") {
      const piece = pieceOf(bytes, from, to);
      if (piece.length > 0) reading.listener.onBody(piece);
    }
  }

  #end(reading: Delimited, last: Piece, surplus: number): void {
    // An engine that answers before it has read the whole request would take the rest of it for the next one.
    if (reading.head.keepAlive && surplus === 0 && !this.#isSending && this.#tcp.isFlushed) {
      this.#reading = { kind: "nothing" };
      this.#owner.onIdle(this, reading.head.keepAliveSeconds);
    } else this.drop();
    reading.listener.onEnd(last);
  }
}

/** Out of the read buffer. What is small leaves as text, and whoever looks at it on its way looks at text. */
function pieceOf(bytes: Buffer, from: number, to: number): Piece {
  if (from === to) return "";
  return to - from <= JOIN_BYTES ? bytes.toString("latin1", from, to) : Buffer.from(bytes.subarray(from, to));
}
