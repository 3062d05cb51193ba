import { messageOf } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import { GRANTED_ROLES } from "../core/roles.ts";

const ROLES = ["node", ...GRANTED_ROLES, "server"] as const;
export type Role = (typeof ROLES)[number];

/** What is remembered of a certificate that was issued, whatever becomes of its file. */
export interface IssuedEntry {
  /** The name of its file without the ending. */
  readonly name: string;
  readonly role: Role | "unknown";
  readonly serial: string;
  readonly names: readonly string[];
  readonly notBefore: Millis;
  readonly notAfter: Millis;
  /** Undefined: it is not revoked. */
  readonly revokedAt: Millis | undefined;
}

/** The text of the index, for people with an editor too: dates are written out. */
export function writeIndex(entries: readonly IssuedEntry[]): string {
  const date = (at: Millis): string => new Date(at).toISOString();
  const written = entries.map(({ notBefore, notAfter, revokedAt, ...entry }) => ({
    ...entry,
    notBefore: date(notBefore),
    notAfter: date(notAfter),
    ...(revokedAt === undefined ? {} : { revokedAt: date(revokedAt) }),
  }));
  return `${JSON.stringify(written, undefined, 2)}\n`;
}

export function readIndex(text: string): Result<readonly IssuedEntry[], string> {
  try {
    const value: unknown = JSON.parse(text);
    if (!Array.isArray(value)) return err("is no list");
    const entries = value.map(readEntry);
    const whole = entries.filter((entry) => entry !== undefined);
    return whole.length === entries.length ? ok(whole) : err("holds an entry that is not whole");
  } catch (error) {
    return err(`is no JSON: ${messageOf(error)}`);
  }
}

function readEntry(value: unknown): IssuedEntry | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const fields = value as Readonly<Record<string, unknown>>;
  const { name, serial } = fields;
  const dates = datesOf(fields);
  if (typeof name !== "string" || typeof serial !== "string" || !/^[0-9A-F]+$/.test(serial)) return undefined;
  if (dates === undefined) return undefined;
  const names = Array.isArray(fields["names"]) ? fields["names"].filter((each) => typeof each === "string") : [];
  return { name, role: ROLES.find((known) => known === fields["role"]) ?? "unknown", serial, names, ...dates };
}

function datesOf(
  fields: Readonly<Record<string, unknown>>,
): Pick<IssuedEntry, "notBefore" | "notAfter" | "revokedAt"> | undefined {
  const [notBefore, notAfter] = [dateOf(fields["notBefore"]), dateOf(fields["notAfter"])];
  const revokedAt = dateOf(fields["revokedAt"]);
  if (notBefore === undefined || notAfter === undefined) return undefined;
  // A date that cannot be read must not make a revoked certificate good again.
  if (fields["revokedAt"] !== undefined && revokedAt === undefined) return undefined;
  return { notBefore, notAfter, revokedAt };
}

function dateOf(value: unknown): Millis | undefined {
  const at = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(at) ? undefined : millis(at);
}
