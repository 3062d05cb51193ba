import type { TLSSocket } from "node:tls";
import type { WebRequest } from "./listen.ts";

export interface PeerCertificate {
  readonly commonName: string;
  /** Undefined: it is valid and of the authority that was given. */
  readonly problem: string | undefined;
}

/** What a client showed. `tls: false`: the connection is plain; without a certificate: it showed none. */
export function peerCertificate(request: WebRequest): {
  readonly tls: boolean;
  readonly certificate?: PeerCertificate;
} {
  const socket = request.socket as TLSSocket;
  if (!("encrypted" in socket)) return { tls: false };
  const { subject } = socket.getPeerCertificate() as { readonly subject?: { readonly CN?: string | string[] } };
  if (subject === undefined) return { tls: true };
  const [commonName = ""] = [subject.CN].flat();
  // Typed as an Error, but it is a code such as CERT_HAS_EXPIRED.
  const problem = socket.authorized ? undefined : String(socket.authorizationError);
  return { tls: true, certificate: { commonName, problem } };
}
