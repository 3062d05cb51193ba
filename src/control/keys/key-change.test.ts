import { toJsonString } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { snapshot } from "../../../test/fakes/snapshots.ts";
import { NO_LIMITS } from "../../core/client-key.ts";
import { millis } from "../../core/ids.ts";
import type { StoredKey } from "../../store/store.ts";
import { KeySchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { createKey, revokeKey } from "./key-change.ts";
import { keySetOf, keyToWire } from "./key-set.ts";
import { mintClientKey } from "./mint-key.ts";

const key = (name: string, more: Partial<StoredKey> = {}): StoredKey => ({
  id: `key-${name}`,
  name,
  prefix: `sk-llmgw-${name}aaaa`,
  sha256: `hash of ${name}`,
  models: [],
  limits: NO_LIMITS,
  expiresAt: undefined,
  createdAt: millis(1_000),
  createdBy: "the admin token",
  revokedAt: undefined,
  ...more,
});

const by = { now: millis(9_000), who: "the admin token" };

describe("creating", () => {
  test("tells who made it, and never the hash", () => {
    const created = createKey(snapshot(), key("a"), by.who);
    if (!created.ok) throw new Error("taken");
    expect(created.value.snapshot.keys).toEqual([key("a")]);
    expect(created.value.events).toMatchObject([{ subjectKind: "key", subject: "a", reason: "KeyCreated" }]);
    expect(JSON.stringify(created.value.events)).toContain("the admin token");
    expect(JSON.stringify(created.value.events)).not.toContain("hash of a");
  });

  test("a name is taken as long as its key is in force", () => {
    const before = snapshot({ keys: [key("a")] });
    expect(createKey(before, key("a", { id: "other" }), by.who)).toEqual({ ok: false, error: "taken" });
    const after = snapshot({ keys: [key("a", { revokedAt: millis(2_000) })] });
    expect(createKey(after, key("a", { id: "other" }), by.who).ok).toBe(true);
  });
});

describe("revoking", () => {
  const keys = [key("ab"), key("ac"), key("old", { revokedAt: millis(5_000) })];
  const before = snapshot({ keys });

  test.each([
    { asked: "ab", found: "ab" },
    { asked: "key-ac", found: "ac" },
    { asked: "sk-llmgw-acaaaa", found: "ac" },
    { asked: "sk-llmgw-acaaaa-and-the-rest-of-it", found: "ac" },
  ])("$asked is $found", ({ asked, found }) => {
    const revoked = revokeKey(before, asked, by);
    if (!revoked.ok) throw new Error(revoked.error.kind);
    expect(revoked.value.answer).toMatchObject({ name: found, revokedAt: 9_000 });
    expect(keySetOf(1, revoked.value.snapshot.keys).keys.map(({ name }) => name)).not.toContain(found);
    expect(revoked.value.events).toMatchObject([{ subject: found, reason: "KeyRevoked" }]);
  });

  test.each([
    { asked: "sk-llmgw-a", error: { kind: "ambiguous", names: ["ab", "ac"] } },
    { asked: "sk-llmgw-", error: { kind: "unknown", known: ["ab", "ac"], wasRevoked: false } },
    { asked: "", error: { kind: "unknown", wasRevoked: false } },
    { asked: "old", error: { kind: "unknown", wasRevoked: true } },
    { asked: "sk-llmgw-oldaaaa", error: { kind: "unknown", wasRevoked: true } },
  ])("$asked is none", ({ asked, error }) => {
    expect(revokeKey(before, asked, by)).toMatchObject({ ok: false, error });
  });
});

test.each([
  [{}, "active"],
  [{ expiresAt: millis(8_000) }, "expired"],
  [{ expiresAt: millis(8_001) }, "active"],
  [{ expiresAt: millis(1), revokedAt: millis(2) }, "revoked"],
])("%j is %s", (more, state) => {
  const shown = keyToWire(key("a", more), millis(8_000));
  expect(shown.state).toBe(state);
  expect(toJsonString(KeySchema, shown)).not.toContain("hash of a");
});

test("a minted key is long, of one piece, and no two are alike", () => {
  const minted = Array.from({ length: 200 }, mintClientKey);
  for (const { secret, prefix, sha256 } of minted) {
    expect(secret).toMatch(/^sk-llmgw-[0-9A-Za-z]{43}$/);
    expect(secret.startsWith(prefix)).toBe(true);
    expect(prefix).toHaveLength(15);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  }
  expect(new Set(minted.map(({ secret }) => secret)).size).toBe(200);
});
