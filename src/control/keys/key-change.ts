import { KEY_PREFIX, SHOWN_KEY_LENGTH } from "../../core/client-key.ts";
import type { NewEvent } from "../../core/event.ts";
import type { Millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Snapshot, StoredKey } from "../../store/store.ts";
import type { Change } from "../manifest-change.ts";

/** Why a key that somebody names cannot be told. */
export type WhichKey =
  /** `known`: the names that there are. `wasRevoked`: it was one once. */
  | { readonly kind: "unknown"; readonly known: readonly string[]; readonly wasRevoked: boolean }
  | { readonly kind: "ambiguous"; readonly names: readonly string[] };

/** Refused when a key of that name is in force. */
export function createKey(before: Snapshot, key: StoredKey, who: string): Result<Change<StoredKey>, "taken"> {
  if (inForce(before).some(({ name }) => name === key.name)) return err("taken");
  const keys = [...before.keys, key].toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const event = keyEvent(key, "KeyCreated", `client key ${key.name} (${key.prefix}…) was created by ${who}`);
  return ok({ snapshot: { ...before, keys }, events: [event], answer: key });
}

/** `asked`: a name, an id, or the beginning of the key itself. */
export function revokeKey(
  before: Snapshot,
  asked: string,
  { now, who }: { readonly now: Millis; readonly who: string },
): Result<Change<StoredKey>, WhichKey> {
  const found = findKey(before, asked);
  if (!found.ok) return found;
  const revoked: StoredKey = { ...found.value, revokedAt: now };
  const keys = before.keys.map((key) => (key.id === revoked.id ? revoked : key));
  const { name, prefix } = revoked;
  const event = keyEvent(revoked, "KeyRevoked", `client key ${name} (${prefix}…) was revoked by ${who}`);
  return ok({ snapshot: { ...before, keys }, events: [event], answer: revoked });
}

function findKey(snapshot: Snapshot, asked: string): Result<StoredKey, WhichKey> {
  const candidates = matching(inForce(snapshot), asked);
  const [only, ...more] = candidates;
  if (only === undefined) {
    const known = inForce(snapshot).map(({ name }) => name);
    return err({ kind: "unknown", known, wasRevoked: matching(snapshot.keys, asked).length > 0 });
  }
  return more.length === 0 ? ok(only) : err({ kind: "ambiguous", names: candidates.map(({ name }) => name) });
}

function matching(keys: readonly StoredKey[], asked: string): readonly StoredKey[] {
  const named = keys.filter(({ name, id }) => name === asked || id === asked);
  if (named.length > 0 || !asked.startsWith(KEY_PREFIX) || asked.length === KEY_PREFIX.length) return named;
  const shown = asked.slice(0, SHOWN_KEY_LENGTH);
  return keys.filter(({ prefix }) => prefix.startsWith(shown));
}

const inForce = ({ keys }: Snapshot): readonly StoredKey[] => keys.filter(({ revokedAt }) => revokedAt === undefined);

const keyEvent = ({ name }: StoredKey, reason: string, message: string): NewEvent => ({
  level: "info",
  subjectKind: "key",
  subject: name,
  reason,
  message,
});
