import { Server as TlsServer } from "node:tls";
import type { Sweep } from "../sweep.ts";
import { ProtocolSplit } from "./by-protocol.ts";
import type { Http1Of, Http1Server, ServerCertificate } from "./http1-server.ts";
import { exchangeOfStream, headRefusal } from "./http2-request.ts";
import { Http2Sessions } from "./http2-sessions.ts";
import { NodeHttp1 } from "./node-http1.ts";
import { OwnHttp1 } from "./own-http1.ts";

export interface PortAddress {
  readonly host: string;
  readonly port: number;
  /** With other processes that say so too: each gets a part of the connections. */
  readonly isShared?: boolean;
}

/** Who reads HTTP/1.1: this program itself, or Node's own server. */
const HTTP1 = { own: OwnHttp1, node: NodeHttp1 } as const;
export type Http1Reader = keyof typeof HTTP1;

interface Of extends Http1Of {
  readonly sweep: Sweep;
  readonly http1: Http1Reader;
}

/** Where clients connect: HTTP/1.1 and HTTP/2 at one port, by the handshake with TLS and by the first bytes without. */
export class ClientPort {
  readonly #of: Of;
  readonly #http1: Http1Server;
  readonly #http2: Http2Sessions;
  readonly #split: ProtocolSplit;

  constructor(of: Of) {
    this.#of = of;
    const { limits } = of;
    const http1 = new HTTP1[of.http1](of);
    this.#http1 = http1;
    this.#http2 = new Http2Sessions({
      clock: of.clock,
      limits,
      onStream: (stream, head) => {
        const carried = of.onRequest(exchangeOfStream(stream, head), headRefusal(head, limits.headerBytes));
        if (carried !== undefined) stream.once("close", carried.onClientGone.bind(carried));
      },
      onTrouble: ({ code }) => {
        if (code !== "ECONNRESET") of.logger.info({ detail: code }, "malformed HTTP/2");
      },
    });
    this.#split = new ProtocolSplit(http1, this.#http2, limits.headTime);
  }

  get #server(): Http1Server["server"] {
    return this.#http1.server;
  }

  /** Resolves with the port in use. Rejects when the address cannot be listened on. */
  listen({ host, port, isShared = false }: PortAddress): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen({ host, port, reusePort: isShared }, () => {
        this.#server.off("error", reject);
        this.#of.sweep.add(this.#http2);
        if (this.#http1.timed !== undefined) this.#of.sweep.add(this.#http1.timed);
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
    this.#http1.closeIdle();
  }

  closeAll(): void {
    this.#http1.closeAll();
    this.#http2.destroy();
    this.#split.destroyAll();
  }
}
