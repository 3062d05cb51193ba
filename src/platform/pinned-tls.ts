import type { OnReadOpts } from "node:net";
import { connect, type ConnectionOptions, createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { sha256Of } from "./sha256.ts";

/** A server whose certificate is known beforehand, whoever made it. */
export interface PinnedAddress {
  readonly host: string;
  readonly port: number;
  /** SHA-256 of its certificate's DER, in lower-case hex. */
  readonly tlsSha256: string;
}

/** As in `PinnedAddress`. */
export const certificateSha256 = (der: Uint8Array): string => sha256Of(der);

/** One for all connections: each would else read the machine's store of authorities, none of which is asked. */
let shared: SecureContext | undefined;

/**
 * TLS to a server that is known by its certificate alone: neither its names, its dates nor its maker are looked at.
 * `opened` is called when it has shown that certificate, and nothing may be written before, or an impostor on the port
 * would read it. One that shows another certificate ends the socket with an error that says so.
 */
export function connectPinned(
  to: PinnedAddress,
  options: ConnectionOptions & { readonly onread?: OnReadOpts },
  opened: () => void,
): TLSSocket {
  shared ??= createSecureContext({ ca: [], minVersion: "TLSv1.2" });
  const socket = connect({
    ...options,
    ...{ host: to.host, port: to.port, secureContext: shared },
    // Compared below, whole, in the place of a chain to an authority.
    rejectUnauthorized: false,
  });
  socket.once("secureConnect", () => {
    const shown = socket.getPeerX509Certificate()?.raw;
    if (shown !== undefined && certificateSha256(shown) === to.tlsSha256) {
      socket.setNoDelay(true);
      socket.setKeepAlive(true, KEEP_ALIVE_AFTER);
      opened();
    } else socket.destroy(new Error(WRONG_CERTIFICATE));
  });
  return socket;
}

/** Of connections to engines, in milliseconds: a machine that is gone says nothing. */
export const KEEP_ALIVE_AFTER = 60_000;

const WRONG_CERTIFICATE =
  "it shows another TLS certificate than the one that its node made for it, so nothing was sent to it";
