import type { IncomingMessage } from "node:http";
import type { Refusal } from "../error-body.ts";
import type { ClientHeaders } from "./client-headers.ts";

export type ClientSocket = IncomingMessage["socket"];

/** The head of a request, over whichever HTTP it came. Of HTTP/2 only what HTTP/1.1 has too. */
export interface ClientRequest {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly headers: ClientHeaders;
  /** Names as they were sent and values, in turn. */
  readonly rawHeaders: readonly string[];
  /** All of the body has come. */
  readonly complete: boolean;
}

/**
 * A request's body, as far as anybody here uses it: a readable stream is one. Nothing of it is told in the turn in which it is
 * first listened to.
 */
export interface RequestBody {
  readonly readableEnded: boolean;
  /** The bytes are the listener's to keep. There is one listener. */
  on(event: "data", listener: (chunk: Buffer) => void): unknown;
  on(event: "end", listener: () => void): unknown;
  /** `close`: nothing more will be told, whatever has come. */
  once(event: "end" | "close", listener: () => void): unknown;
  pause(): unknown;
  resume(): unknown;
  /** Takes no more of it, and ends its connection. */
  destroy(): unknown;
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
  /**
   * False: the client does not keep up, and nothing more should be written before `drain`. Text is of UTF-8, or a character
   * for each byte.
   */
  write(chunk: Buffer | string, encoding?: "latin1"): boolean;
  end(last?: Buffer | string, encoding?: "latin1"): unknown;
  /** Cuts the answer off so that no client takes it for whole. */
  destroy(): unknown;
  once(event: "drain", listener: () => void): unknown;
}

/** A client's request and the answer to it. */
export interface HttpExchange {
  readonly req: ClientRequest;
  readonly body: RequestBody;
  readonly res: ClientResponse;
  /** The connection, where Node's own server reads it. Undefined: whoever reads it tells that the client left. */
  readonly socket: ClientSocket | undefined;
  /** The client sends its body when it is told to (Expect: 100-continue). */
  readonly waitsForContinue: boolean;
}

/** A request that is being answered, as its connection sees it. */
export interface Carried {
  /** Nothing has been answered yet. */
  readonly isOpen: boolean;
  onClientGone(): void;
  /** What comes of its body makes no sense. */
  onRefused(refusal: Refusal): void;
}

/** Takes the requests that come. `refusal`: what is wrong with the head. Undefined: nobody need be told what becomes of the client. */
export type OnRequest = (http: HttpExchange, refusal?: Refusal) => Carried | undefined;
