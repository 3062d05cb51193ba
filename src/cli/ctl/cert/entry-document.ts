import type { Millis } from "../../../core/ids.ts";
import type { IssuedEntry } from "../../../pki/issued.ts";

/** What has become of a certificate. */
export function stateOf({ revokedAt, notBefore, notAfter }: IssuedEntry, now: Millis): string {
  if (revokedAt !== undefined) return "revoked";
  if (now > notAfter) return "expired";
  return now < notBefore ? "not yet valid" : "valid";
}

/** An entry for scripts. */
export const entryDocument = (entry: IssuedEntry, now: Millis): Readonly<Record<string, unknown>> => ({
  name: entry.name,
  role: entry.role,
  state: stateOf(entry, now),
  serial: entry.serial,
  names: entry.names,
  notBefore: new Date(entry.notBefore).toISOString(),
  notAfter: new Date(entry.notAfter).toISOString(),
  ...(entry.revokedAt === undefined ? {} : { revokedAt: new Date(entry.revokedAt).toISOString() }),
});
