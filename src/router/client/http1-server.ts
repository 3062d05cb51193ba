import type { Duplex } from "node:stream";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { SocketServer } from "../../platform/socket-server.ts";
import type { RouterLimits } from "../limits.ts";
import type { Timed } from "../sweep.ts";
import type { ClientSocket, OnRequest } from "./http-exchange.ts";
import type { StartQueue } from "./start-queue.ts";

/** What TLS offers its clients, the better one first. */
export const PROTOCOLS: readonly string[] = ["h2", "http/1.1"];

export interface ServerCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface Http1Of {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: RouterLimits;
  /** PEM texts. Without them the port speaks no TLS. */
  readonly tls: ServerCertificate | undefined;
  /** Where requests wait while streams run, if the connections are read here. */
  readonly starts: StartQueue;
  readonly onRequest: OnRequest;
  /** What a connection that Node reads carries is no HTTP any more, or ends within a request. True: that is dealt with. */
  onBroken(socket: Duplex, hasEnded: boolean): boolean;
}

/** Whoever reads HTTP/1.1 at a port. */
export interface Http1Server {
  /** Accepts the connections, of any version. */
  readonly server: SocketServer;
  /** Where its deadlines are looked at; undefined: it does that itself. */
  readonly timed: Timed | undefined;
  /** A connection whose client speaks HTTP/1.1. */
  take(socket: ClientSocket): void;
  /** Closes connections that are between two requests. */
  closeIdle(): void;
  closeAll(): void;
}

const OF_TLS = /^ERR_(?:TLS|SSL)_/;

/** A connection on which no handshake of TLS came about; false: that is not what is wrong with it. */
export function wasHandshake({ code }: NodeJS.ErrnoException, socket: Duplex, logger: Logger): boolean {
  if (code === undefined || !OF_TLS.test(code)) return false;
  // Until the handshake has ended nothing can be said, and a connection that is only ended would wait for that.
  socket.destroy();
  logger.info({ detail: code }, "TLS handshake failed");
  return true;
}
