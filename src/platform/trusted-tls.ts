import { isIP, type OnReadOpts } from "node:net";
import { connect, type ConnectionOptions, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { KEEP_ALIVE_AFTER } from "./pinned-tls.ts";

/** A server that proves by its certificate that it has the host's name. */
export interface TrustedAddress {
  readonly host: string;
  readonly port: number;
  /** PEM: the authorities that the certificate may be of. "": those that the runtime trusts. */
  readonly ca: string;
}

/** By authorities: reading them again for each connection would cost more than the handshake. */
const contexts = new Map<string, SecureContext>();
const MOST_CONTEXTS = 64;

function contextOf(ca: string): SecureContext {
  const known = contexts.get(ca);
  if (known !== undefined) return known;
  if (contexts.size >= MOST_CONTEXTS) contexts.clear();
  const made = createSecureContext({ minVersion: "TLSv1.2", ...(ca === "" ? {} : { ca }) });
  contexts.set(ca, made);
  return made;
}

/**
 * TLS to a server whose certificate is checked whole: chain, dates and the name. `opened` is called when it is good, and
 * nothing may be written before: an impostor would read it. One that is not good ends the socket with an error.
 */
export function connectTrusted(
  to: TrustedAddress,
  options: ConnectionOptions & { readonly onread?: OnReadOpts },
  opened: () => void,
): TLSSocket {
  const { host, port, ca } = to;
  const named = isIP(host) === 0 ? { servername: host } : {};
  const socket = connect({
    ...options,
    ...{ host, port, secureContext: contextOf(ca), ALPNProtocols: ["http/1.1"], rejectUnauthorized: true },
    ...named,
  });
  socket.once("secureConnect", () => {
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_AFTER);
    opened();
  });
  return socket;
}
