import { toJsonString } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { snapshot, storedNode } from "../../../test/fakes/snapshots.ts";
import type { AccessToken, TokenGrant } from "../../core/access-token.ts";
import { millis, nodeId } from "../../core/ids.ts";
import { TokenSchema } from "../../wire/gen/llmgw/v1/trust_pb.js";
import { claimToken } from "./claim.ts";
import { mintToken } from "./mint-token.ts";
import { createToken, revokeToken } from "./token-change.ts";
import { stateOf, tokenToWire } from "./token-state.ts";

const DAY = 86_400_000;
const NOW = millis(1_000 * DAY);
const by = { now: NOW, who: "the admin token from 192.0.2.1" };

const join = (more: Partial<Extract<TokenGrant, { kind: "join" }>> = {}): TokenGrant => ({
  kind: "join",
  node: undefined,
  uses: 1,
  claims: [],
  ...more,
});
const user = (name: string): TokenGrant => ({ kind: "user", name, role: "viewer" });

const token = (id: string, grant: TokenGrant, more: Partial<AccessToken> = {}): AccessToken => ({
  id: `token-${id}`,
  prefix: `llmgw-${grant.kind}-${id}aaaa`,
  sha256: `hash of ${id}`,
  grant,
  createdAt: millis(NOW - DAY),
  createdBy: "somebody",
  expiresAt: millis(NOW + DAY),
  revokedAt: undefined,
  ...more,
});

const claim = (node: string, key = "k") => ({ node: nodeId(node), key, at: NOW });

describe("creating", () => {
  test("tells who ordered it and never the hash", () => {
    const created = createToken(snapshot(), token("a", join({ node: nodeId("n1") })), by);
    if (!created.ok) throw new Error("taken");
    const [event] = created.value.events;
    expect(event?.message).toBe(
      "the join token token-a (llmgw-join-aaaaa…) for the node n1 was created by the admin token from 192.0.2.1",
    );
    expect(JSON.stringify(event)).not.toContain("hash of");
  });

  test.each([
    { name: "in force", more: {}, taken: true },
    { name: "revoked", more: { revokedAt: NOW }, taken: false },
    { name: "expired", more: { expiresAt: NOW }, taken: false },
  ])("a user's name is taken by a token that is $name: $taken", ({ more, taken }) => {
    const before = snapshot({ tokens: [token("a", user("alice"), more)] });
    expect(createToken(before, token("b", user("alice")), by).ok).toBe(!taken);
  });

  test("what was good for nothing for months is forgotten, unless a node stands by it", () => {
    const old = { expiresAt: millis(NOW - 91 * DAY) };
    const tokens = [
      token("a", join(), old),
      token("b", join({ claims: [claim("n1", "")] }), old),
      token("c", join({ claims: [claim("n1", "")] }), { ...old, revokedAt: millis(NOW - 91 * DAY) }),
      token("d", join({ claims: [claim("n1", "key")] }), old),
      token("e", user("old"), { expiresAt: millis(NOW - 89 * DAY) }),
    ];
    const created = createToken(snapshot({ tokens }), token("f", join()), by);
    expect(created.ok && created.value.snapshot.tokens.map(({ id }) => id)).toEqual(["token-b", "token-e", "token-f"]);
  });
});

describe("revoking", () => {
  const tokens = [
    token("ab", join()),
    token("ac", join()),
    token("u", user("alice")),
    token("old", user("old"), { revokedAt: NOW }),
  ];
  const before = snapshot({ tokens });

  test.each([
    { asked: "token-ab", found: "token-ab" },
    { asked: "alice", found: "token-u" },
    { asked: "llmgw-join-acaaaa", found: "token-ac" },
    { asked: "llmgw-join-acaaaaandtherest.pin", found: "token-ac" },
  ])("$asked is $found", ({ asked, found }) => {
    const revoked = revokeToken(before, asked, by);
    expect(revoked).toMatchObject({ ok: true, value: { answer: { id: found, revokedAt: NOW } } });
  });

  test.each([
    { asked: "llmgw-join-a", error: { kind: "ambiguous", ids: ["token-ab", "token-ac"] } },
    { asked: "llmgw-join-", error: { kind: "unknown", wasRevoked: false } },
    { asked: "alise", error: { kind: "unknown", known: ["token-ab", "token-ac", "alice"] } },
    { asked: "old", error: { kind: "unknown", wasRevoked: true } },
  ])("$asked is none", ({ asked, error }) => {
    expect(revokeToken(before, asked, by)).toMatchObject({ ok: false, error });
  });
});

describe("claiming", () => {
  const ask = (grant: TokenGrant, more: Partial<AccessToken> = {}, changes: { node?: string; key?: string } = {}) => {
    const { node = "n1", key = "k" } = changes;
    const before = snapshot({ tokens: [token("a", grant, more)], nodes: [storedNode("busy")] });
    return claimToken(before, { sha256: "hash of a", node: nodeId(node), key, now: NOW, from: "192.0.2.7" });
  };

  test("takes a use, and says so", () => {
    const claimed = ask(join({ uses: 2, claims: [claim("n0")] }));
    if (!claimed.ok) throw new Error(claimed.error);
    expect(claimed.value.answer.grant).toMatchObject({ claims: [{ node: "n0" }, { node: "n1", key: "k", at: NOW }] });
    expect(claimed.value.events[0]?.message).toMatch(/admitted the node n1 from 192\.0\.2\.7$/);
    expect(stateOf(claimed.value.answer, NOW)).toBe("used up");
  });

  test.each<{
    readonly name: string;
    readonly grant: TokenGrant;
    readonly more?: Partial<AccessToken>;
    readonly changes?: { readonly node?: string; readonly key?: string };
    readonly says: RegExp | undefined;
  }>([
    { name: "used up", grant: join({ claims: [claim("n0")] }), says: /used up, by n0/ },
    {
      name: "used up by itself with another key",
      grant: join({ claims: [claim("n1", "old")] }),
      says: /used up, by n1/,
    },
    { name: "used up by itself with the same key", grant: join({ claims: [claim("n1")] }), says: undefined },
    {
      name: "expired",
      grant: join(),
      more: { expiresAt: NOW },
      says: /expired at .* UTC, and the control plane's clock/,
    },
    {
      name: "expired, and the same key again: a certificate would outlive the token",
      grant: join({ claims: [claim("n1")] }),
      more: { expiresAt: NOW },
      says: /expired/,
    },
    {
      name: "expired, where the token itself stands for the node",
      grant: join({ claims: [claim("n1", "")] }),
      more: { expiresAt: NOW },
      changes: { key: "" },
      says: undefined,
    },
    {
      name: "revoked",
      grant: join({ claims: [claim("n1", "")] }),
      more: { revokedAt: NOW },
      changes: { key: "" },
      says: /was revoked/,
    },
    {
      name: "another node's",
      grant: join({ node: nodeId("n2") }),
      says: /for the node n2, and this one says that it is n1/,
    },
    { name: "of a user", grant: user("alice"), says: /does not know the join token/ },
    {
      name: "any node's, for one that is connected",
      grant: join(),
      changes: { node: "busy" },
      says: /busy is connected already/,
    },
    {
      name: "for exactly the one that is connected",
      grant: join({ node: nodeId("busy") }),
      changes: { node: "busy" },
      says: undefined,
    },
  ])("$name", ({ grant, more, changes, says }) => {
    const claimed = ask(grant, more, changes);
    if (says === undefined) expect(claimed.ok).toBe(true);
    else expect(claimed.ok ? "admitted" : claimed.error).toMatch(says);
  });

  test("a token that nobody made is none", () => {
    const claimed = claimToken(snapshot(), { sha256: "x", node: nodeId("n1"), key: "", now: NOW, from: "" });
    expect(claimed.ok ? "admitted" : claimed.error).toMatch(/does not know the join token/);
  });
});

test.each([
  [join(), {}, "active", 1],
  [join({ uses: 3, claims: [claim("n1")] }), {}, "active", 2],
  [join({ claims: [claim("n1")] }), { expiresAt: NOW }, "used up", 0],
  [join(), { expiresAt: NOW }, "expired", 1],
  [user("a"), { expiresAt: millis(1), revokedAt: NOW }, "revoked", 0],
] as const)("%j %j is %s with %i uses left", (grant, more, state, left) => {
  const shown = tokenToWire(token("a", grant, more), NOW);
  expect(shown).toMatchObject({ state, usesLeft: left });
  expect(toJsonString(TokenSchema, shown)).not.toContain("hash of");
});

test("a minted token is long, of one piece, and no two are alike", () => {
  const minted = Array.from({ length: 200 }, (_, at) => mintToken(at % 2 === 0 ? "join" : "user"));
  for (const { secret, prefix, sha256 } of minted) {
    expect(secret).toMatch(/^llmgw-(join|user)-[0-9A-Za-z]{43}$/);
    expect(secret.startsWith(prefix)).toBe(true);
    expect(prefix).toHaveLength(17);
    expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  }
  expect(new Set(minted.map(({ secret }) => secret)).size).toBe(200);
});
