import { create } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { KeyGrant, KeySet } from "../../core/client-key.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { KeyTotal } from "../../core/usage.ts";
import type { StoredKey } from "../../store/store.ts";
import { type Key, KeySchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { limitsToWire } from "../../wire/keys.ts";
import { toText, toTimestamp } from "../../wire/scalar.ts";

/** What routers must know. One that has expired is among them: its owner is to hear that, not that it is unknown. */
export const keySetOf = (revision: number, keys: readonly StoredKey[]): KeySet => ({
  revision,
  shared: true,
  keys: keys.flatMap((key): readonly KeyGrant[] => {
    const { id, name, sha256, models, limits, expiresAt } = key;
    return key.revokedAt === undefined ? [{ id, name, sha256, models, limits, expiresAt }] : [];
  }),
});

type BudgetUse = Pick<KeyTotal, "dayTokens" | "monthTokens">;
const NOTHING_USED: BudgetUse = { dayTokens: 0, monthTokens: 0 };

/** As operators see it: without its hash, which is nobody's business. */
export const keyToWire = (key: StoredKey, now: Millis, used: BudgetUse = NOTHING_USED): Key =>
  create(KeySchema, {
    id: key.id,
    name: toText(key.name),
    prefix: key.prefix,
    state: stateOf(key, now),
    models: [...key.models],
    limits: limitsToWire(key.limits),
    createdAt: toTimestamp(key.createdAt),
    createdBy: toText(key.createdBy),
    dayTokens: used.dayTokens,
    monthTokens: used.monthTokens,
    ...(key.expiresAt === undefined ? {} : { expiresAt: toTimestamp(key.expiresAt) }),
    ...(key.revokedAt === undefined ? {} : { revokedAt: toTimestamp(key.revokedAt) }),
  });

function stateOf({ revokedAt, expiresAt }: StoredKey, now: Millis): "active" | "expired" | "revoked" {
  if (revokedAt !== undefined) return "revoked";
  return expiresAt !== undefined && expiresAt <= now ? "expired" : "active";
}

export const expiryFromWire = (expiresAt: Parameters<typeof timestampMs>[0] | undefined): Millis | undefined =>
  expiresAt === undefined ? undefined : millis(timestampMs(expiresAt));
