import { type ListenAddress, writeListen } from "../config/listen.ts";

/** Addresses that mean every address of the machine, and the one by which a client on it gets there. */
const EVERYWHERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

/** How a client on this machine reaches a port. */
export const localUrl = (scheme: "http" | "https", { host, port }: ListenAddress): string =>
  `${scheme}://${writeListen({ host: EVERYWHERE[host] ?? host, port })}`;

/** How clients reach a router. One that listens everywhere is where the control plane is said to be, else on this machine. */
export function clientUrl(scheme: "http" | "https", listen: ListenAddress, publicUrl: string | undefined): string {
  if (EVERYWHERE[listen.host] === undefined || publicUrl === undefined) return localUrl(scheme, listen);
  return `${scheme}://${new URL(publicUrl).hostname}:${String(listen.port)}`;
}
