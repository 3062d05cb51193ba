/** A host as it stands before a port: the colons of an IPv6 address would be taken for the port's. */
export const bracketed = (host: string): string => (host.includes(":") ? `[${host}]` : host);

export const hostAndPort = (host: string, port: number): string => `${bracketed(host)}:${String(port)}`;
