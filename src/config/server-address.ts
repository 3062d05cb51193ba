import { err, ok, type Result } from "../core/result.ts";
import { isLoopback } from "./ip.ts";

/** The host of an address that can be read, as it is dialled: an IPv6 one without its brackets. */
export const hostOf = (address: string): string => new URL(address).hostname.replace(/^\[|\]$/g, "");

/** Whether what is sent there can be read on the way. */
export const isOpenHttp = (address: string): boolean => /^http:/i.test(address) && !isLoopback(hostOf(address));

/**
 * Reads the address of a control plane and gives it back in one spelling: lower case, without a final dot on the name
 * (certificates never carry it) and without a final slash. The error completes "KEY …".
 */
export function parseServerAddress(text: string): Result<string, string> {
  if (!/^https?:\/\//i.test(text)) return err(noScheme(text));
  const [, port = "1"] = /:(-?\d+)\/?$/.exec(text) ?? [];
  if (Number(port) < 1 || Number(port) > 65_535) return err(`has the port ${port}, but ports go from 1 to 65535`);
  if (/\s/.test(text) || !URL.canParse(text)) return err(`is no address: "${text}"; write https://HOST:7443`);
  return fromUrl(new URL(text), text);
}

function noScheme(text: string): string {
  const rest = text.replace(/^[A-Za-z0-9+.-]*:\/\//, "");
  return `must begin with http:// or https://, but is "${text}"; did you mean https://${rest}?`;
}

function fromUrl(url: URL, text: string): Result<string, string> {
  if (url.username !== "" || url.password !== "") {
    return err("must not carry a name or password: agents prove themselves by certificate or join token");
  }
  if (url.pathname !== "/" || url.search !== "" || url.hash !== "") {
    return err(`must end after the port, but is "${text}"; write ${url.protocol}//${url.host}`);
  }
  const host = url.hostname.replace(/\.$/, "");
  if (host === "" || host.endsWith(".")) return err(`names no host: "${text}"`);
  return ok(`${url.protocol}//${host}${url.port === "" ? "" : `:${url.port}`}`);
}
