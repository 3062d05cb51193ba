import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";

/** The head of a request, over whichever HTTP it came. Of HTTP/2 only what HTTP/1.1 has too. */
export interface ClientRequest extends Pick<IncomingMessage, "method" | "headers" | "rawHeaders" | "complete"> {
  readonly url?: string | undefined;
}

/** What the router answers with. Names and values of headers in turn, names in lower case. */
export interface ClientResponse {
  readonly headersSent: boolean;
  readonly writableNeedDrain: boolean;
  /** Takes no further request on its connection. Left out: that is told in another way. */
  closeAfter?(): void;
  writeHead(status: number, headers: string[]): unknown;
  writeContinue(): void;
  flushHeaders(): void;
  /** False: the client does not keep up, and nothing more should be written before `drain`. */
  write(chunk: Buffer | string): boolean;
  end(last?: Buffer | string): unknown;
  /** Cuts the answer off so that no client takes it for whole. */
  destroy(): unknown;
  once(event: "drain", listener: () => void): unknown;
}

/** A client's request and the answer to it. */
export interface HttpExchange {
  readonly req: ClientRequest;
  readonly body: Readable;
  readonly res: ClientResponse;
  /** The connection, where it carries one request at a time. Undefined: the body's `close` tells that the client left. */
  readonly socket: IncomingMessage["socket"] | undefined;
  /** The client sends its body when it is told to (Expect: 100-continue). */
  readonly waitsForContinue: boolean;
}
