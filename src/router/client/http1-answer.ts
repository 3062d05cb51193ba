import type { ServerResponse } from "node:http";
import { JOIN_BYTES } from "../../platform/outbox.ts";
import type { ClientResponse, ClientSocket } from "./http-exchange.ts";

const LAST_CHUNK = "0\r\n\r\n";

/**
 * An answer over HTTP/1.1. Chunks are framed here: node:http would hand each to the socket in four pieces, and that is most of
 * what an event costs.
 */
export class Http1Answer implements ClientResponse {
  readonly #res: ServerResponse;
  #isFramed = false;
  /** The head is on its way: what follows may go to the socket itself. */
  #isUnderWay = false;

  constructor(res: ServerResponse) {
    this.#res = res;
  }

  get headersSent(): boolean {
    return this.#res.headersSent;
  }

  get writableNeedDrain(): boolean {
    return this.#res.writableNeedDrain || this.#res.socket?.writableNeedDrain === true;
  }

  /** The connection closes behind it. */
  closeAfter(): void {
    this.#res.shouldKeepAlive = false;
  }

  writeHead(status: number, headers: string[]): void {
    this.#res.writeHead(status, headers);
    // It has decided by the client's version, and has told it.
    this.#isFramed = this.#res.chunkedEncoding;
    this.#res.chunkedEncoding = false;
  }

  writeContinue(): void {
    this.#res.writeContinue();
  }

  flushHeaders(): void {
    this.#res.flushHeaders();
  }

  write(chunk: Buffer | string, encoding?: "latin1"): boolean {
    const bytes = asBytes(chunk, encoding);
    // A chunk of no bytes would end the answer.
    if (bytes.length === 0) return !this.writableNeedDrain;
    // As text node:http joins them with the head, and the socket has one write.
    if (bytes.length > JOIN_BYTES) return this.#writeLarge(bytes);
    const text = this.#framed(bytes);
    const socket = this.#isUnderWay ? this.#idleSocket() : undefined;
    this.#isUnderWay = true;
    return socket === undefined ? this.#res.write(text, "latin1") : socket.write(text, "latin1");
  }

  /** The client's connection, if it is this answer's turn and nothing waits to be sent on it: node:http need not put it in order. */
  #idleSocket(): Pick<ClientSocket, "write"> | undefined {
    const { socket } = this.#res;
    return socket?.writable === true && this.#res.writableLength === 0 ? socket : undefined;
  }

  /** Its pieces leave together too, and none is copied. */
  #writeLarge(bytes: Buffer): boolean {
    this.#isUnderWay = true;
    if (!this.#isFramed) return this.#res.write(bytes);
    this.#res.write(`${bytes.length.toString(16)}\r\n`, "latin1");
    this.#res.write(bytes);
    return this.#res.write("\r\n", "latin1");
  }

  end(last: Buffer | string = "", encoding?: "latin1"): void {
    const bytes = asBytes(last, encoding);
    const close = this.#isFramed ? LAST_CHUNK : "";
    if (bytes.length > JOIN_BYTES) {
      this.#writeLarge(bytes);
      this.#res.end(close, "latin1");
    } else if (bytes.length > 0) this.#res.end(this.#framed(bytes) + close, "latin1");
    else this.#res.end(close, "latin1");
  }

  #framed(bytes: Buffer): string {
    const text = bytes.toString("latin1");
    return this.#isFramed ? `${bytes.length.toString(16)}\r\n${text}\r\n` : text;
  }

  destroy(): void {
    this.#res.destroy();
  }

  once(event: "drain", listener: () => void): void {
    // What went to the socket itself is no business of the answer's.
    if (this.#res.writableNeedDrain) this.#res.once(event, listener);
    else this.#res.socket?.once(event, listener);
  }
}

const asBytes = (chunk: Buffer | string, encoding: "latin1" | undefined): Buffer =>
  typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
