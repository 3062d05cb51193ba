import { err, ok, type Result } from "../core/result.ts";

/** One entry of a certificate's list of names. */
export type NameEntry =
  { readonly kind: "dns"; readonly value: string } | { readonly kind: "ip"; readonly value: string };

/**
 * Sorts what a person typed into host names and addresses: an address as a host name makes some libraries refuse the whole
 * certificate. A final dot and repetitions go; host names are written in lower case. Every name that cannot be one is told.
 */
export function nameEntries(names: readonly string[]): Result<readonly NameEntry[], readonly string[]> {
  const read = names.map(nameEntry);
  const problems = read.flatMap((entry) => (entry.ok ? [] : [entry.error]));
  if (problems.length > 0) return err(problems);
  const entries = read.flatMap((entry) => (entry.ok ? [entry.value] : []));
  const isFirst = ({ kind, value }: NameEntry, at: number): boolean =>
    entries.findIndex((other) => other.kind === kind && other.value === value) === at;
  return ok(entries.filter(isFirst));
}

/** The one name as the entry that it belongs into. */
export function nameEntry(name: string): Result<NameEntry, string> {
  const address = canonicalAddress(name);
  if (address !== undefined) return ok({ kind: "ip", value: address });
  const host = name.replace(/\.$/, "").toLowerCase();
  return isHostName(host) ? ok({ kind: "dns", value: host }) : err(whyNoName(name));
}

/** Underscores are no part of the rules for host names, but of many host names. */
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

function isHostName(host: string): boolean {
  const labels = host.replace(/^\*\./, "").split(".");
  if (host.length > 253 || !labels.every((label) => LABEL.test(label))) return false;
  // A last label of digits is an address with a mistake in it.
  return !/^\d+$/.test(labels.at(-1) ?? "");
}

function whyNoName(name: string): string {
  const shown = JSON.stringify(name);
  if (name.includes("*")) return `${shown} is no name for a certificate: a star stands alone before the first dot`;
  if (/^[a-z]+:\/\//i.test(name)) return `${shown} is a whole address of a service: give only its host`;
  if (/:\d+$/.test(name)) return `${shown} is no name for a certificate: leave the port out`;
  return `${shown} is neither a host name nor an IP address`;
}

/** One spelling for each address, without brackets and zone; undefined for what is none. */
export function canonicalAddress(text: string): string | undefined {
  const bare = /^\[(.*)\]$/.exec(text)?.[1] ?? text;
  if (bare.includes(":")) return ipv6(bare);
  const parts = bare.split(".");
  const isAddress = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
  return isAddress ? bare : undefined;
}

function ipv6(text: string): string | undefined {
  if (!/^[0-9a-f:.]+$/i.test(text) || !URL.canParse(`http://[${text}]/`)) return undefined;
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}
