import { hostAndPort } from "../core/host-port.ts";
import { err, ok, type Result } from "../core/result.ts";
import { ipScope } from "./ip.ts";

/** Where a port is opened. IPv6 hosts stand without brackets. Port 0 takes a free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

const HOST_NAME = /^(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*$/;

/**
 * Reads `8000`, `:8000`, `127.0.0.1:8000`, `host:8000` and `[::1]:8000`; without a host it is `defaultHost`. The error
 * completes "KEY …".
 */
export function parseListen(text: string, defaultHost: string): Result<ListenAddress, string> {
  const [, written, digits] = /^(?:(\[[^\]]*\]|[^:[\]]*):)?(-?\d+)$/.exec(text) ?? [];
  if (digits === undefined) return err(`must be an address with a port, but is "${text}"${guessListen(text)}`);
  const port = Number(digits);
  if (port < 0 || port > 65_535) return err(`has the port ${digits}, but ports go from 1 to 65535`);
  const host = parseHost(written ?? "");
  return host.ok ? ok({ host: host.value === "" ? defaultHost : host.value, port }) : host;
}

function parseHost(written: string): Result<string, string> {
  if (written === "" || isHost(written)) return ok(written);
  if (!written.startsWith("[")) return err(`has the host "${written}", which is no name or address`);
  const inner = written.slice(1, -1);
  const fits = inner.includes(":") && ipScope(inner) !== undefined;
  return fits ? ok(inner) : err(`has "${inner}" in brackets, but that is no IPv6 address`);
}

function isHost(host: string): boolean {
  return ipScope(host) !== undefined || (HOST_NAME.test(host) && !/^[\d.]+$/.test(host));
}

function guessListen(text: string): string {
  const [, ip = "", port = ""] = /^([0-9a-fA-F:]*:)(\d+)$/.exec(text) ?? [];
  if (ip.includes("::"))
    return `; an IPv6 address needs brackets: did you mean [${ip.replace(/([^:]):$/, "$1")}]:${port}?`;
  if (ipScope(text) === undefined) return isHost(text) ? `; the port is missing, such as ${text}:8000` : "";
  return `; the port is missing, such as ${hostAndPort(text, 8000)}`;
}

/** The text that {@link parseListen} reads back to the same value. */
export const writeListen = ({ host, port }: ListenAddress): string => hostAndPort(host, port);
