import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import type { Refusal } from "../error-body.ts";
import { HEADERS_TOO_LARGE } from "../refusals.ts";
import { type Http1Of, type Http1Server, PROTOCOLS, wasHandshake } from "./http1-server.ts";
import type { ClientSocket } from "./http-exchange.ts";
import { Http1Answer } from "./http1-answer.ts";
import { MOST_HEADERS } from "./http2-request.ts";
import { LATE_HEAD, malformedAnswer, NO_REQUEST } from "./malformed.ts";

/** HTTP/1.1 by Node's own server. */
export class NodeHttp1 implements Http1Server {
  readonly server: Server;
  readonly timed = undefined;
  readonly #of: Http1Of;
  readonly #accept: readonly ((this: Server, socket: ClientSocket) => void)[];

  constructor(of: Http1Of) {
    this.#of = of;
    this.server = this.#createServer();
    const event = of.tls === undefined ? "connection" : "secureConnection";
    this.#accept = this.server.listeners(event) as ((this: Server, socket: ClientSocket) => void)[];
    // It is given the connections that are for it.
    this.server.removeAllListeners(event);
  }

  #createServer(): Server {
    const { limits, tls } = this.#of;
    const options = {
      maxHeaderSize: limits.headerBytes,
      keepAliveTimeout: limits.clientIdle,
      headersTimeout: limits.headTime,
      connectionsCheckingInterval: Math.max(50, limits.headTime / 10),
      // A slow upload that keeps moving is no fault; one that stops is noticed by its exchange.
      requestTimeout: 0,
    };
    const server =
      tls === undefined
        ? createServer(options)
        : createTlsServer({ ...options, ...tls, ALPNProtocols: [...PROTOCOLS], handshakeTimeout: limits.headTime });
    server.maxHeadersCount = MOST_HEADERS;
    server.on("request", this.#onRequest.bind(this, false));
    server.on("checkContinue", this.#onRequest.bind(this, true));
    server.on("clientError", this.#onClientError.bind(this));
    return server;
  }

  #onRequest(waitsForContinue: boolean, req: IncomingMessage, res: ServerResponse): void {
    this.#of.onRequest({ req, body: req, res: new Http1Answer(res), socket: req.socket, waitsForContinue });
  }

  take(socket: ClientSocket): void {
    for (const accept of this.#accept) accept.call(this.server, socket);
  }

  closeIdle(): void {
    this.server.closeIdleConnections();
  }

  closeAll(): void {
    this.server.closeAllConnections();
  }

  /** What is no HTTP gets an answer all the same, in the shape that clients read. */
  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    const { logger } = this.#of;
    if (wasHandshake(error, socket, logger)) return;
    if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
    else if (!this.#of.onBroken(socket, error.code === "HPE_INVALID_EOF_STATE")) {
      const { bytes, line } = malformedAnswer(refusalOf(error), error.code);
      socket.end(bytes);
      logger.info(line, "malformed request");
    }
  }
}

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === "HPE_HEADER_OVERFLOW") return HEADERS_TOO_LARGE;
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? LATE_HEAD : NO_REQUEST;
}
