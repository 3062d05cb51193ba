import type { Socket } from "node:net";

/** The same for a TLS socket and the plain one beneath it, which have no other tie that is public. */
export const endpointsOf = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress ?? ""} ${String(remotePort)}`;
