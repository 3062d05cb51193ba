import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from "node:http";
import {
  createSecureServer,
  createServer as createHttp2,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from "node:net";
import { messageOf } from "../core/errors.ts";
import { millis, type Millis } from "../core/ids.ts";
import { endpointsOf } from "./far-end.ts";
import { whenProtocolKnown } from "./sniff.ts";

/** Longer than the 60 s after which common load balancers drop an idle connection: they must be the first to close it. */
const KEEP_ALIVE_MS = 75_000;
/** A client that does not finish its head in this time is not going to. */
const HEAD_TIMEOUT_MS = 60_000;
/** Agents of our time send kilobytes of attestation and trace headers; Node's own limit is 16 KiB. */
const MAX_HEADER_BYTES = 64 * 1024;

export type WebRequest = IncomingMessage | Http2ServerRequest;
type WebResponse = ServerResponse | Http2ServerResponse;
export type WebHandler = (request: WebRequest, response: WebResponse) => void;

export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
  /** With it, clients are asked for a certificate of this authority; whether they must have one is the handler's rule. */
  readonly ca: string | undefined;
  /** Told of handshakes that failed, with the client's address. */
  readonly onTrouble?: (error: Error, address: string) => void;
}

export interface ListenOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly tls: TlsMaterial | undefined;
  readonly handler: WebHandler;
}

export interface Listening {
  readonly address: string;
  readonly port: number;
  /** Uses other certificates for connections that are made from now on. Nothing, when the port speaks no TLS. */
  renewTls(tls: Pick<TlsMaterial, "cert" | "key" | "ca">): void;
  /**
   * Takes no new connection, closes idle ones at once, lets requests in flight end until the deadline and cuts the rest.
   * Resolves when every connection is gone.
   */
  close(deadline?: Millis): Promise<void>;
}

/**
 * One port that speaks HTTP/1.1 and HTTP/2: by ALPN with TLS, by the first bytes without. Rejects with the system's error
 * (its `code` kept, such as EADDRINUSE) when the address cannot be had.
 */
export async function listen(options: ListenOptions): Promise<Listening> {
  const connections = new Connections();
  const { tls } = options;
  const secure = tls === undefined ? undefined : tlsServer(options, tls, connections);
  const server = secure ?? plainServer(options, connections);
  await bound(server, options);
  const { address, port } = server.address() as AddressInfo;
  return {
    address,
    port,
    renewTls: ({ cert, key, ca }) => {
      secure?.setSecureContext({ cert, key, ca });
    },
    close: (deadline = millis(5_000)) => connections.close(server, deadline),
  };
}

function plainServer({ handler }: ListenOptions, connections: Connections): Server {
  const http1 = createHttp1({
    keepAliveTimeout: KEEP_ALIVE_MS,
    headersTimeout: HEAD_TIMEOUT_MS,
    // A slow upload that keeps moving is nobody's fault.
    requestTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const http2 = createHttp2({ settings: { maxHeaderListSize: MAX_HEADER_BYTES } });
  http1.on("request", connections.tracking(handler));
  http2.on("request", connections.tracking(handler));
  http2.on("session", (session) => {
    connections.addSession(session);
  });
  // Sockets are handed over below, so this server never listens; the event starts its watch over slow heads.
  http1.emit("listening");
  const server = createTcp({ noDelay: true }, (socket) => {
    connections.addSocket(socket);
    whenProtocolKnown(socket, millis(HEAD_TIMEOUT_MS), (protocol) => {
      (protocol === "http2" ? http2 : http1).emit("connection", socket);
    });
  });
  server.on("close", () => {
    // Ends the watch; that it does not listen is no news.
    http1.close(() => undefined);
  });
  return server;
}

function tlsServer({ handler }: ListenOptions, tls: TlsMaterial, connections: Connections): Http2SecureServer {
  const server = createSecureServer({
    cert: tls.cert,
    key: tls.key,
    ...(tls.ca === undefined ? {} : { ca: tls.ca, requestCert: true, rejectUnauthorized: false }),
    allowHTTP1: true,
    http1Options: { keepAliveTimeout: KEEP_ALIVE_MS },
    settings: { maxHeaderListSize: MAX_HEADER_BYTES },
  });
  Object.assign(server, { headersTimeout: HEAD_TIMEOUT_MS, requestTimeout: 0, maxHeaderSize: MAX_HEADER_BYTES });
  server.on("request", connections.tracking(handler));
  server.on("session", (session) => {
    connections.addSession(session);
  });
  server.on("connection", (socket: Socket) => {
    connections.addSocket(socket);
  });
  server.on("tlsClientError", (error, socket) => {
    tls.onTrouble?.(error, socket.remoteAddress ?? "unknown");
  });
  return server;
}

function bound(server: Server, { host, port }: ListenOptions): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

/** Knows which connections are open and which of them have a request in flight. */
class Connections {
  readonly #sockets = new Set<Socket>();
  /** With where they come from: one that has just ended has no socket any more. */
  readonly #sessions = new Map<ServerHttp2Session, string>();
  /** Requests in flight of each HTTP/1.1 connection; by the socket that the request names, the TLS one with TLS. */
  readonly #inFlight = new Map<Socket, number>();
  #closing = false;

  addSocket(socket: Socket): void {
    this.#sockets.add(socket);
    // A connection that breaks is the client's business; without a listener it would end the process.
    socket.on("error", () => undefined);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  addSession(session: ServerHttp2Session): void {
    this.#sessions.set(session, endpointsOf(session.socket));
    session.on("error", () => undefined);
    session.once("close", () => this.#sessions.delete(session));
    if (this.#closing) session.close();
  }

  tracking(handler: WebHandler): WebHandler {
    return (request, response) => {
      if (request.httpVersionMajor === 1) this.#track(request.socket, response);
      try {
        handler(request, response);
      } catch (error) {
        request.destroy(error instanceof Error ? error : new Error(messageOf(error)));
      }
    };
  }

  #track(socket: Socket, response: WebResponse): void {
    this.#inFlight.set(socket, (this.#inFlight.get(socket) ?? 0) + 1);
    response.once("close", () => {
      const left = (this.#inFlight.get(socket) ?? 1) - 1;
      if (left > 0) {
        this.#inFlight.set(socket, left);
        return;
      }
      this.#inFlight.delete(socket);
      if (this.#closing) socket.end();
    });
  }

  async close(server: Server, deadline: Millis): Promise<void> {
    this.#closing = true;
    const closed = new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
    });
    for (const session of this.#sessions.keys()) session.close();
    const timer = setTimeout(() => {
      for (const session of this.#sessions.keys()) session.destroy();
      for (const socket of this.#sockets) socket.destroy();
    }, deadline);
    for (const socket of this.#idleSockets()) socket.destroy();
    await closed;
    clearTimeout(timer);
  }

  /** Neither HTTP/2 nor with a request: idle between requests, or not yet at its first. */
  #idleSockets(): readonly Socket[] {
    const busy = new Set([...this.#inFlight.keys()].map(endpointsOf));
    const http2 = new Set(this.#sessions.values());
    return [...this.#sockets].filter((socket) => !busy.has(endpointsOf(socket)) && !http2.has(endpointsOf(socket)));
  }
}
