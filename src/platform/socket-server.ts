import { createServer, type Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { Millis } from "../core/ids.ts";

/** Where connections come in. With TLS it is a server of `node:tls`, and tells of them once more when they are encrypted. */
export type SocketServer = Server;

export interface ServerTls {
  /** PEM texts. */
  readonly cert: string;
  readonly key: string;
  /** What clients are offered, the best first. */
  readonly protocols: readonly string[];
  readonly handshakeTime: Millis;
}

/** What each connection is like: its two directions end apart, and nothing waits to be sent with more. */
const CONNECTIONS = { allowHalfOpen: true, noDelay: true } as const;

export function socketServer(tls: ServerTls | undefined): SocketServer {
  if (tls === undefined) return createServer(CONNECTIONS);
  const { cert, key, protocols, handshakeTime } = tls;
  const ALPNProtocols = [...protocols];
  return createTlsServer({ ...CONNECTIONS, cert, key, ALPNProtocols, handshakeTimeout: handshakeTime });
}
