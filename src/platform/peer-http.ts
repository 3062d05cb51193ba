import type { X509Certificate } from "node:crypto";
import { connect } from "node:tls";
import type * as Undici from "undici";
import { hostAndPort } from "../core/host-port.ts";
import { certificatesOf } from "./peer-certificate.ts";

/** What a connection to another node shows, and what it makes of the other's certificate. */
export interface PeerTls {
  readonly cert: string;
  readonly key: string;
  /** Why the certificates are not those of whom was called; undefined: they are. */
  judge(certificates: readonly X509Certificate[]): string | undefined;
}

interface PeerAsk {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** A longer answer is an error. */
  readonly mostBytes: number;
  readonly signal: AbortSignal;
}

export interface PeerAnswer {
  readonly status: number;
  readonly body: Buffer;
}

/** Connections to one port of another node. Throws what the system and undici throw. */
export interface PeerHttp {
  send(ask: PeerAsk): Promise<PeerAnswer>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 5_000;
/** Silence after which the other end is given up. */
const IDLE_MS = 15_000;
const CONNECTIONS = 4;

export async function openPeerHttp(
  address: { readonly host: string; readonly port: number },
  tls: PeerTls | undefined,
): Promise<PeerHttp> {
  // Loaded late: most agents never ask another one.
  const { Pool } = await import("undici");
  const authority = hostAndPort(address.host, address.port);
  const pool = new Pool(`${tls === undefined ? "http" : "https"}://${authority}`, {
    connections: CONNECTIONS,
    allowH2: false,
    headersTimeout: IDLE_MS,
    bodyTimeout: IDLE_MS,
    connect: tls === undefined ? { timeout: CONNECT_TIMEOUT_MS } : connector(address, tls),
  });
  return {
    async send({ method, path, headers, mostBytes, signal }) {
      const answer = await pool.request({ method, path, headers, signal });
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of answer.body) {
        chunks.push(chunk as Buffer);
        length += (chunk as Buffer).length;
        if (length > mostBytes) throw new Error(`${authority} answered more than ${String(mostBytes)} bytes`);
      }
      return { status: answer.statusCode, body: Buffer.concat(chunks) };
    },
    close: () => pool.destroy(),
  };
}

/**
 * A node's certificate is made for a client, so the usual check of servers would refuse it. It is judged by the name that it
 * carries instead, before anything is sent.
 */
function connector({ host, port }: { readonly host: string; readonly port: number }, tls: PeerTls) {
  const { cert, key } = tls;
  return (_: Undici.buildConnector.Options, done: Undici.buildConnector.Callback): void => {
    const socket = connect({ host, port, cert, key, rejectUnauthorized: false, timeout: CONNECT_TIMEOUT_MS });
    const fail = (error: Error): void => {
      socket.destroy();
      done(error, null);
    };
    const onTimeout = (): void => {
      fail(new Error(`${hostAndPort(host, port)} does not answer`));
    };
    socket.once("error", fail).once("timeout", onTimeout);
    socket.once("secureConnect", () => {
      const refusal = tls.judge(certificatesOf(socket));
      socket.off("timeout", onTimeout).setTimeout(0);
      if (refusal !== undefined) {
        fail(new Error(refusal));
        return;
      }
      socket.off("error", fail);
      done(null, socket);
    });
  };
}
