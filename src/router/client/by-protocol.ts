import type { Server } from "node:http";
import { Server as TlsServer, type TLSSocket } from "node:tls";
import type { Millis } from "../../core/ids.ts";
import { endpointsOf } from "../../platform/far-end.ts";
import { whenProtocolKnown } from "../../platform/sniff.ts";
import type { Http2Sessions } from "./http2-sessions.ts";

type Socket = Parameters<typeof whenProtocolKnown>[0];

/** What TLS offers its clients, the better one first. */
export const PROTOCOLS: readonly string[] = ["h2", "http/1.1"];

/**
 * Has one port speak both versions: a server of HTTP/1.1 keeps its own connections and gives the others away. With TLS
 * the handshake has told which they are, without it their first bytes do.
 */
export class ProtocolSplit {
  readonly #http2: Http2Sessions;
  readonly #toHttp1: (socket: Socket) => void;
  readonly #patience: Millis;
  readonly #sockets = new Set<Socket>();
  /** Those of which it is not known yet what they speak. */
  readonly #silent = new Map<string, Socket>();

  /** `patience`: how long the first bytes may take. */
  constructor(server: Server, http2: Http2Sessions, patience: Millis) {
    this.#http2 = http2;
    this.#patience = patience;
    const isTls = server instanceof TlsServer;
    const event = isTls ? "secureConnection" : "connection";
    const own = server.listeners(event) as ((this: Server, socket: Socket) => void)[];
    this.#toHttp1 = (socket) => {
      for (const listener of own) listener.call(server, socket);
    };
    server.removeAllListeners(event);
    server.on("connection", this.#add.bind(this));
    if (isTls) server.on("secureConnection", this.#byHandshake.bind(this));
    else server.on("connection", this.#byFirstBytes.bind(this));
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket);
    const name = endpointsOf(socket);
    this.#silent.set(name, socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      if (this.#silent.get(name) === socket) this.#silent.delete(name);
    });
  }

  #byHandshake(socket: TLSSocket): void {
    this.#silent.delete(endpointsOf(socket));
    if (socket.alpnProtocol === "h2") this.#http2.take(socket);
    else this.#toHttp1(socket);
  }

  #byFirstBytes(socket: Socket): void {
    // Until one of the two has it, nobody else would hear that it broke.
    const onError = (): void => undefined;
    socket.on("error", onError);
    whenProtocolKnown(socket, this.#patience, (protocol) => {
      this.#silent.delete(endpointsOf(socket));
      socket.off("error", onError);
      if (protocol === "http2") this.#http2.take(socket);
      else this.#toHttp1(socket);
    });
  }

  /** Closes what has asked nothing yet. */
  closeSilent(): void {
    for (const socket of [...this.#silent.values()]) socket.destroy();
  }

  /** Closes everything, half-made connections too. */
  destroyAll(): void {
    for (const socket of [...this.#sockets]) socket.destroy();
  }
}
