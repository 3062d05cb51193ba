import { BlockList, isIP } from "node:net";

export type FetchEnv = Readonly<Record<string, string | undefined>>;

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" };

/**
 * The proxy for an address by HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, or undefined for a direct connection.
 * The lower-case name wins, as it does for curl. NO_PROXY takes names (with their subdomains), `*.name` and `.name`,
 * addresses, `10.0.0.0/8`, each with an optional `:port`, and `*`.
 */
export function proxyFor(url: URL, env: FetchEnv): string | undefined {
  const named = variable(env, url.protocol === "https:" ? "https_proxy" : "http_proxy") ?? variable(env, "all_proxy");
  if (named === undefined || isExempt(url, variable(env, "no_proxy") ?? "")) return undefined;
  return named.includes("://") ? named : `http://${named}`;
}

function variable(env: FetchEnv, lower: string): string | undefined {
  const value = (env[lower] ?? env[lower.toUpperCase()])?.trim();
  return value === "" ? undefined : value;
}

function isExempt(url: URL, noProxy: string): boolean {
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1").replace(/(.)\.$/, "$1");
  const port = url.port === "" ? DEFAULT_PORTS[url.protocol] : url.port;
  return noProxy.split(/[,\s]+/).some((entry) => entry !== "" && matches(entry.toLowerCase(), host, port));
}

function matches(entry: string, host: string, port: string | undefined): boolean {
  const { name, wantedPort } = splitPort(entry);
  if (wantedPort !== undefined && wantedPort !== port) return false;
  if (name === "*") return true;
  if (name.includes("/")) return isInside(name, host);
  const suffix = name.replace(/^\*?\./, "");
  return (host === suffix && !name.startsWith("*")) || host.endsWith(`.${suffix}`);
}

/** A bare IPv6 address is full of colons, so only a bracketed one can carry a port. */
function splitPort(entry: string): { readonly name: string; readonly wantedPort: string | undefined } {
  const bracketed = /^\[(.+)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return { name: bracketed[1] ?? "", wantedPort: bracketed[2] };
  const single = /^([^:]+):(\d+)$/.exec(entry);
  return single === null ? { name: entry, wantedPort: undefined } : { name: single[1] ?? "", wantedPort: single[2] };
}

function isInside(network: string, host: string): boolean {
  const [address = "", prefix = ""] = network.split("/");
  const family = isIP(address);
  const bits = Number(prefix);
  if (family === 0 || isIP(host) !== family || !Number.isInteger(bits) || bits < 0) return false;
  if (bits > (family === 4 ? 32 : 128)) return false;
  const list = new BlockList();
  const type = family === 4 ? "ipv4" : "ipv6";
  list.addSubnet(address, bits, type);
  return list.check(host, type);
}
