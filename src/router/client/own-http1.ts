import type { Duplex } from "node:stream";
import type { Millis } from "../../core/ids.ts";
import { type SocketServer, socketServer } from "../../platform/socket-server.ts";
import type { Refusal } from "../error-body.ts";
import type { Timed } from "../sweep.ts";
import { AnswerHeads } from "./http1/answer-head.ts";
import { type ConnectionOf, Http1Connection } from "./http1/connection.ts";
import { type Http1Of, type Http1Server, PROTOCOLS, wasHandshake } from "./http1-server.ts";
import type { ClientSocket } from "./http-exchange.ts";
import { malformedAnswer } from "./malformed.ts";

/** HTTP/1.1 read from the sockets and written to them here: Node's own server costs as much as all else that is done for a request. */
export class OwnHttp1 implements Http1Server, Timed {
  readonly server: SocketServer;
  readonly timed = this;
  readonly #connections = new Set<Http1Connection>();
  readonly #of: ConnectionOf;

  constructor({ clock, logger, limits, tls, starts, onRequest }: Http1Of) {
    const certificate = tls && { ...tls, protocols: PROTOCOLS, handshakeTime: limits.headTime };
    this.server = socketServer(certificate);
    this.server.on("tlsClientError", (error: Error, socket: Duplex) => {
      if (!wasHandshake(error, socket, logger)) socket.destroy();
    });
    this.#of = {
      limits,
      starts,
      onRequest,
      heads: new AnswerHeads(clock, Math.floor(limits.clientIdle / 1000)),
      onMalformed: (refusal: Refusal, detail: string) => {
        const { bytes, line } = malformedAnswer(refusal, detail);
        logger.info(line, "malformed request");
        return bytes;
      },
      onGone: (connection) => {
        this.#connections.delete(connection);
      },
    };
  }

  take(socket: ClientSocket): void {
    this.#connections.add(new Http1Connection(socket, this.#of));
  }

  onTick(now: Millis): void {
    for (const connection of this.#connections) connection.onTick(now);
  }

  closeIdle(): void {
    for (const connection of this.#connections) connection.closeIfIdle();
  }

  closeAll(): void {
    for (const connection of this.#connections) connection.destroy();
  }
}
