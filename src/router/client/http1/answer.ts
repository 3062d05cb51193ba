import type { Outbox } from "../../../platform/outbox.ts";
import type { Piece } from "../../piece.ts";
import type { ClientResponse } from "../http-exchange.ts";
import type { AnswerHead, AnswerHeads } from "./answer-head.ts";
import type { RequestHead } from "./request-head.ts";

const LAST_CHUNK = "0\r\n\r\n";

/** What is the same for all answers of a connection. */
export interface AnswerLine {
  readonly outbox: Outbox;
  readonly heads: AnswerHeads;
  /** All of an answer was given to the outbox. */
  onAnswered(): void;
  destroy(): void;
}

/** An answer over HTTP/1.1, written to its connection's socket itself. It is that connection's turn until it has ended. */
export class SocketAnswer implements ClientResponse {
  readonly #outbox: Outbox;
  readonly #line: AnswerLine;
  readonly #isHead: boolean;
  readonly #isHttp11: boolean;
  #keepsAlive: boolean;
  /** The client may leave its body out when it has its answer first, and what it sends then cannot be told from a body. */
  #awaitsContinue: boolean;
  /** Written and not sent: it leaves with the first bytes of the body. */
  #waiting = "";
  #body: AnswerHead["body"] = "none";
  #isOver = false;
  headersSent = false;

  constructor(line: AnswerLine, { method, isHttp11, keepsAlive, expectation }: RequestHead) {
    this.#outbox = line.outbox;
    this.#line = line;
    this.#isHead = method === "HEAD";
    this.#isHttp11 = isHttp11;
    this.#keepsAlive = keepsAlive;
    this.#awaitsContinue = expectation === "continue";
  }

  get writableNeedDrain(): boolean {
    return this.#outbox.isFull;
  }

  /** Nothing more will be written. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Another request may follow it. */
  get keepsAlive(): boolean {
    return this.#keepsAlive;
  }

  closeAfter(): void {
    this.#keepsAlive = false;
  }

  writeHead(status: number, headers: readonly string[]): void {
    if (this.headersSent) return;
    const head = this.#line.heads.head(status, headers, {
      isHttp11: this.#isHttp11,
      isHead: this.#isHead,
      keepsAlive: this.#keepsAlive && !this.#awaitsContinue,
    });
    this.#waiting = head.text;
    this.#body = head.body;
    this.#keepsAlive = !head.isLast;
    this.headersSent = true;
  }

  writeContinue(): void {
    if (this.headersSent || this.#isOver) return;
    this.#awaitsContinue = false;
    this.#outbox.write("HTTP/1.1 100 Continue\r\n\r\n");
  }

  flushHeaders(): void {
    if (this.#isOver || this.#waiting === "") return;
    this.#outbox.write(this.#waiting);
    this.#waiting = "";
  }

  write(chunk: Buffer | string, encoding?: "latin1"): boolean {
    // A chunk of no bytes would end the answer.
    if (this.#isOver || this.#body === "none" || chunk.length === 0) return !this.writableNeedDrain;
    return this.#send(asPiece(chunk, encoding), "");
  }

  end(last: Buffer | string = "", encoding?: "latin1"): void {
    if (this.#isOver) return;
    const close = this.#body === "chunked" ? LAST_CHUNK : "";
    if (this.#body === "none" || last.length === 0) {
      const text = this.#waiting + close;
      this.#waiting = "";
      if (text !== "") this.#outbox.write(text);
    } else this.#send(asPiece(last, encoding), close);
    this.#isOver = true;
    this.#line.onAnswered();
  }

  /** What waits, a piece of the body, and what comes behind it. False: the client does not keep up. */
  #send(piece: Piece, behind: string): boolean {
    const isChunked = this.#body === "chunked";
    const before = isChunked ? `${this.#waiting}${piece.length.toString(16)}\r\n` : this.#waiting;
    const after = isChunked ? `\r\n${behind}` : behind;
    this.#waiting = "";
    if (typeof piece === "string") this.#outbox.write(before + piece + after);
    else this.#outbox.send(before, [piece], after);
    return !this.#outbox.isFull;
  }

  destroy(): void {
    this.#line.destroy();
  }

  /** Its connection is gone, or is to get nothing more: whatever is written from now on is written to nobody. */
  abandon(): void {
    this.#isOver = true;
  }

  once(_event: "drain", listener: () => void): void {
    this.#outbox.onceDrained(listener);
  }
}

const asPiece = (chunk: Buffer | string, encoding: "latin1" | undefined): Piece =>
  typeof chunk === "string" && encoding === undefined ? Buffer.from(chunk) : chunk;
