import { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { WebRequest } from "./listen.ts";

/** What the client at the other end of a TLS connection showed. */
export interface PeerCertificates {
  /** Its own first, then what it sent along. Empty: none. */
  readonly certificates: readonly X509Certificate[];
  /** Why the TLS library would not take them, such as CERT_HAS_EXPIRED; undefined when it would. */
  readonly problem: string | undefined;
}

/** A chain of certificates that sign each other in a circle ends here. */
const MOST_SENT = 8;

/** Read once for a connection, since it does not change and each call asks. */
const known = new WeakMap<object, PeerCertificates>();

/** Undefined: the connection is plain. */
export function peerCertificates(request: WebRequest): PeerCertificates | undefined {
  const socket = request.socket as TLSSocket;
  if (!("encrypted" in socket)) return undefined;
  const connection = connectionOf(request);
  const before = known.get(connection);
  if (before !== undefined) return before;
  const certificates = certificatesOf(socket);
  // Typed as an Error, but it is a code.
  const read = { certificates, problem: socket.authorized ? undefined : String(socket.authorizationError) };
  known.set(connection, read);
  return read;
}

/** What the other end of a TLS connection showed, its own certificate first. */
export function certificatesOf(socket: TLSSocket): readonly X509Certificate[] {
  const certificates: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next !== undefined && certificates.length < MOST_SENT) {
    certificates.push(new X509Certificate(next.raw));
    next = next.issuerCertificate;
  }
  return certificates;
}

/** An HTTP/2 request has a stand-in for its socket, a new one each time. */
const connectionOf = (request: WebRequest): object =>
  "stream" in request ? (request.stream.session ?? request.stream) : request.socket;
