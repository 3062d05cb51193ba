import { constants, type ServerHttp2Stream } from "node:http2";
import type { ClientResponse } from "./http-exchange.ts";

/** Headers of an HTTP/1.1 connection: HTTP/2 forbids them. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);

/**
 * An answer on a stream of HTTP/2. The stream may be gone before its exchange hears of it, and whatever is written then is
 * written to nobody.
 */
export class Http2Answer implements ClientResponse {
  readonly #stream: ServerHttp2Stream;

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
  }

  get headersSent(): boolean {
    return this.#stream.headersSent;
  }

  get writableNeedDrain(): boolean {
    return this.#stream.writableNeedDrain;
  }

  get #isGone(): boolean {
    return this.#stream.destroyed || this.#stream.closed;
  }

  writeHead(status: number, headers: readonly string[]): void {
    if (this.#isGone) return;
    const all: string[] = [":status", String(status)];
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] ?? "";
      if (!OF_CONNECTION.has(name)) all.push(name, headers[index + 1] ?? "");
    }
    this.#stream.respond(all);
  }

  writeContinue(): void {
    if (!this.#isGone) this.#stream.additionalHeaders({ ":status": 100 });
  }

  /** The head was sent when it was written. */
  flushHeaders(): void {
    return;
  }

  write(chunk: Buffer | string, encoding?: "latin1"): boolean {
    return this.#isGone || !this.#stream.writable || this.#stream.write(chunk, encoding ?? "utf8");
  }

  end(last?: Buffer | string, encoding?: "latin1"): void {
    if (this.#isGone) return;
    // An answer to HEAD ended with its head.
    if (this.#stream.writable) this.#stream.end(last?.length === 0 ? undefined : last, encoding ?? "utf8");
    // The client need not send the rest of what has its answer.
    if (!this.#stream.endAfterHeaders && !this.#stream.readableEnded) this.#stream.close(constants.NGHTTP2_NO_ERROR);
  }

  destroy(): void {
    // Closing it with a code would end it first, as if the answer were whole.
    this.#stream.destroy(new Error("the answer breaks off"));
  }

  once(event: "drain", listener: () => void): void {
    this.#stream.once(event, listener);
  }
}
