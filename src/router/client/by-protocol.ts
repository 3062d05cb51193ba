import { Server as TlsServer, type TLSSocket } from "node:tls";
import type { Millis } from "../../core/ids.ts";
import { endpointsOf } from "../../platform/far-end.ts";
import { whenProtocolKnown } from "../../platform/sniff.ts";
import type { ClientSocket } from "./http-exchange.ts";
import type { Http1Server } from "./http1-server.ts";
import type { Http2Sessions } from "./http2-sessions.ts";

/**
 * Has one port speak both versions: of the connections that a server accepts each goes to whoever reads its version. With TLS
 * the handshake has told which that is, without it the first bytes do.
 */
export class ProtocolSplit {
  readonly #http1: Http1Server;
  readonly #http2: Http2Sessions;
  readonly #patience: Millis;
  readonly #sockets = new Set<ClientSocket>();
  /** Those of which it is not known yet what they speak. */
  readonly #silent = new Map<string, ClientSocket>();

  /** `patience`: how long the first bytes may take. */
  constructor(http1: Http1Server, http2: Http2Sessions, patience: Millis) {
    this.#http1 = http1;
    this.#http2 = http2;
    this.#patience = patience;
    const { server } = http1;
    server.on("connection", this.#add.bind(this));
    if (server instanceof TlsServer) server.on("secureConnection", this.#byHandshake.bind(this));
    else server.on("connection", this.#byFirstBytes.bind(this));
  }

  #add(socket: ClientSocket): void {
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
    else this.#http1.take(socket);
  }

  #byFirstBytes(socket: ClientSocket): void {
    // Until one of the two has it, nobody else would hear that it broke.
    const onError = (): void => undefined;
    socket.on("error", onError);
    whenProtocolKnown(socket, this.#patience, (protocol) => {
      this.#silent.delete(endpointsOf(socket));
      socket.off("error", onError);
      if (protocol === "http2") this.#http2.take(socket);
      else this.#http1.take(socket);
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
