import { err, ok, type Result } from "../core/result.ts";
import { type Leaf, leaf, type Scalar, show } from "./fields.ts";
import { ipScope } from "./ip.ts";
import { type ListenAddress, parseListen, writeListen } from "./listen.ts";
import { parseServerAddress } from "./server-address.ts";

const LISTEN = { type: "address", phrase: "a port or HOST:PORT", takes: ["string", "number"] } as const;

export function listen(defaultHost: string): Leaf<ListenAddress> {
  return leaf({ ...LISTEN, write: writeListen }, (raw) => parseListen(String(raw), defaultHost));
}

/** Undefined: "" was written, which turns it off. */
export function listenOrOff(defaultHost: string): Leaf<ListenAddress | undefined> {
  const options = {
    ...LISTEN,
    phrase: 'a port, HOST:PORT or ""',
    write: (address: ListenAddress | undefined) => (address === undefined ? "" : writeListen(address)),
  };
  return leaf(options, (raw): Result<ListenAddress | undefined, string> =>
    raw === "" ? ok(undefined) : parseListen(String(raw), defaultHost),
  );
}

/** Where other nodes fetch weights from. Without a host it is the node's management address, known only at run time. */
export interface PeerListen {
  readonly host: string | undefined;
  readonly port: number;
}

const writePeer = (address: PeerListen | undefined): string => {
  if (address === undefined) return "";
  return address.host === undefined ? `:${String(address.port)}` : writeListen({ ...address, host: address.host });
};

export function peerListen(): Leaf<PeerListen | undefined> {
  const options = { ...LISTEN, phrase: 'a port, HOST:PORT or ""', write: writePeer };
  return leaf(options, (raw): Result<PeerListen | undefined, string> => {
    if (raw === "") return ok(undefined);
    const parsed = parseListen(String(raw), "");
    return parsed.ok ? ok({ host: parsed.value.host || undefined, port: parsed.value.port }) : parsed;
  });
}

export const serverAddress = (): Leaf<string> =>
  leaf({ type: "address", phrase: "an http:// or https:// address", takes: ["string"] }, (raw) =>
    parseServerAddress(String(raw)),
  );

/** The address that others reach this node by: one that works from elsewhere, or loopback for a machine alone. */
export const nodeIp = (): Leaf<string> =>
  leaf({ type: "IP address", phrase: "an IP address", takes: ["string"] }, parseNodeIp);

const UNFIT = {
  "link-local": "is link-local: no other machine can be sure to reach it",
  unspecified: "stands for every address, and nobody can dial that",
  multicast: "is a multicast or reserved address, which no machine has",
} as const;

function parseNodeIp(raw: Scalar): Result<string, string> {
  const value = String(raw);
  const scope = ipScope(value.replace(/%.*$/, ""));
  if (scope === undefined) return err(`must be an IP address, but is ${show(value)}`);
  if (scope !== "usable" && scope !== "loopback") return err(`is ${show(value)}, which ${UNFIT[scope]}`);
  return value.includes("%") ? err(`must be an IP address without a zone, but is ${show(value)}`) : ok(value);
}

export interface PortRange {
  readonly first: number;
  readonly last: number;
}

export function portRange(): Leaf<PortRange> {
  const options = {
    type: "port range",
    phrase: 'two ports such as "41000-41999"',
    takes: ["string"] as const,
    write: ({ first, last }: PortRange) => `${String(first)}-${String(last)}`,
  };
  return leaf(options, (raw) => {
    const [, from, to] = /^\s*(-?\d+)\s*-\s*(-?\d+)\s*$/.exec(String(raw)) ?? [];
    if (from === undefined || to === undefined) return err(`must be ${options.phrase}, but is ${show(raw)}`);
    const range = { first: Number(from), last: Number(to) };
    const bad = [range.first, range.last].find((port) => port < 1 || port > 65_535);
    if (bad !== undefined) return err(`has the port ${String(bad)}, but ports go from 1 to 65535`);
    return range.first <= range.last ? ok(range) : err(`runs backwards: ${show(raw)}; the lower port comes first`);
  });
}

/** A base URL, kept as written but for a final slash. */
export const webAddress = (phrase: string): Leaf<string> =>
  leaf({ type: "URL", phrase, takes: ["string"] }, (raw) => parseWebAddress(String(raw), phrase));

/** The error completes "KEY …". */
export function parseWebAddress(raw: string, phrase: string): Result<string, string> {
  const fits = /^https?:\/\/[^\s]+$/i.test(raw) && URL.canParse(raw);
  return fits ? ok(raw.replace(/(?<!\/)\/+$/, "")) : err(`must be ${phrase}, but is ${show(raw)}`);
}
