import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Duplex } from "node:stream";
import { Server as TlsServer } from "node:tls";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { Refusal } from "../error-body.ts";
import type { RouterLimits } from "../limits.ts";
import type { Sweep } from "../sweep.ts";
import { PROTOCOLS, ProtocolSplit } from "./by-protocol.ts";
import type { HttpExchange } from "./http-exchange.ts";
import { Http1Answer } from "./http1-answer.ts";
import { exchangeOfStream, headRefusal, MOST_HEADERS } from "./http2-request.ts";
import { Http2Sessions } from "./http2-sessions.ts";
import { malformedAnswer } from "./malformed.ts";

export interface PortAddress {
  readonly host: string;
  readonly port: number;
  /** With other processes that say so too: each gets a part of the connections. */
  readonly isShared?: boolean;
}

interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

interface Of {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: RouterLimits;
  readonly sweep: Sweep;
  /** PEM texts. Without them the port speaks no TLS. */
  readonly tls: ServerCertificate | undefined;
  /** `refusal`: what is wrong with the request's head. */
  onRequest(http: HttpExchange, refusal?: Refusal): void;
  /** What a connection of HTTP/1.1 carries is no HTTP any more, or ends within a request. True: that is dealt with. */
  onBroken(socket: Duplex, hasEnded: boolean): boolean;
}

const OF_TLS = /^ERR_(?:TLS|SSL)_/;

/** Where clients connect: HTTP/1.1 and HTTP/2 at one port, by the handshake with TLS and by the first bytes without. */
export class ClientPort {
  readonly #of: Of;
  readonly #server: Server;
  readonly #http2: Http2Sessions;
  readonly #split: ProtocolSplit;

  constructor(of: Of) {
    this.#of = of;
    const { limits } = of;
    this.#server = this.#createServer();
    this.#http2 = new Http2Sessions({
      clock: of.clock,
      limits,
      onStream: (stream, head) => {
        of.onRequest(exchangeOfStream(stream, head), headRefusal(head, limits.headerBytes));
      },
      onTrouble: ({ code }) => {
        if (code !== "ECONNRESET") of.logger.info({ detail: code }, "malformed HTTP/2");
      },
    });
    this.#split = new ProtocolSplit(this.#server, this.#http2, limits.headTime);
  }

  #createServer(): Server {
    const { limits, tls } = this.#of;
    const onRequest = this.#of.onRequest.bind(this.#of);
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
    server.on("request", (req, res) => {
      onRequest({ req, body: req, res: new Http1Answer(res), socket: req.socket, waitsForContinue: false });
    });
    server.on("checkContinue", (req: IncomingMessage, res: ServerResponse) => {
      onRequest({ req, body: req, res: new Http1Answer(res), socket: req.socket, waitsForContinue: true });
    });
    server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
      this.#onClientError(error, socket);
    });
    return server;
  }

  /** Resolves with the port in use. Rejects when the address cannot be listened on. */
  listen({ host, port, isShared = false }: PortAddress): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, reusePort: isShared }, () => {
        this.#server.off("error", reject);
        this.#of.sweep.add(this.#http2);
        const address = this.#server.address();
        resolve(address !== null && typeof address === "object" ? address.port : port);
      });
    });
  }

  /** Shows another certificate to connections that are made from now on. Nothing, when the port speaks no TLS. */
  renewTls({ cert, key }: ServerCertificate): void {
    if (this.#server instanceof TlsServer) this.#server.setSecureContext({ cert, key });
  }

  /** Takes no more connections, and no more requests over HTTP/2. Resolves when the last connection is gone. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
    });
    this.#http2.drain();
    this.#split.closeSilent();
    return closed;
  }

  /** Closes connections that are between two requests. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  closeAll(): void {
    this.#server.closeAllConnections();
    this.#http2.destroy();
    this.#split.destroyAll();
  }

  /** What is no HTTP gets an answer all the same, in the shape that clients read. */
  #onClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (OF_TLS.test(error.code ?? "")) {
      // Until the handshake has ended nothing can be said, and a connection that is only ended would wait for that.
      socket.destroy();
      this.#of.logger.info({ detail: error.code }, "TLS handshake failed");
    } else if (error.code === "ECONNRESET" || !socket.writable) socket.destroy();
    else if (!this.#of.onBroken(socket, error.code === "HPE_INVALID_EOF_STATE")) {
      const { bytes, line } = malformedAnswer(error);
      socket.end(bytes);
      this.#of.logger.info(line, "malformed request");
    }
  }
}
