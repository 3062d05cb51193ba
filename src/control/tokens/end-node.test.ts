import { expect, test } from "vitest";
import type { AccessToken, TokenClaim } from "../../core/access-token.ts";
import { millis, nodeId } from "../../core/ids.ts";
import type { Snapshot } from "../../store/store.ts";
import { claimToken } from "./claim.ts";
import { endNodeTokens } from "./end-node.ts";

const NOW = millis(1_000_000);
const LATER = millis(2_000_000);
const WHO = { now: NOW, who: "alice (admin) from 10.0.0.9" };
const n1 = nodeId("n1");

const claim = (node: string, key = "", more: Partial<TokenClaim> = {}): TokenClaim => ({
  ...{ node: nodeId(node), key, at: millis(1) },
  ...more,
});

interface Join {
  readonly node?: string;
  readonly uses?: number;
  readonly claims?: readonly TokenClaim[];
  readonly revoked?: boolean;
}

function token({ node, uses = 1, claims = [], revoked = false }: Join): AccessToken {
  return {
    ...{ id: "token-1", prefix: "llmgw-join-abcdef", sha256: "s", createdAt: millis(1), createdBy: "alice" },
    grant: { kind: "join", node: node === undefined ? undefined : nodeId(node), uses, claims },
    expiresAt: LATER,
    revokedAt: revoked ? millis(5) : undefined,
  };
}

const snapshotOf = (one: AccessToken): Snapshot => ({ tokens: [one], nodes: [] }) as unknown as Snapshot;
const THE = "the join token token-1 (llmgw-join-abcdef…)";

test.each<{ name: string; join: Join; note: string | undefined; revoked: boolean }>([
  { name: "made for it", join: { node: "n1" }, note: `${THE} for the node n1 was revoked`, revoked: true },
  { name: "used up by it", join: { claims: [claim("n1")] }, note: `${THE} was revoked`, revoked: true },
  { name: "another node's", join: { claims: [claim("n2")] }, note: undefined, revoked: false },
  { name: "made for another", join: { node: "n2" }, note: undefined, revoked: false },
  { name: "revoked already", join: { node: "n1", revoked: true }, note: undefined, revoked: false },
  {
    name: "shared, and used up",
    join: { uses: 2, claims: [claim("n1"), claim("n2")] },
    note: `${THE} admitted others too, and stays`,
    revoked: false,
  },
  {
    name: "for others too, who may still come",
    join: { uses: 3, claims: [claim("n1")] },
    note: `${THE} admitted others too, and stays; it still admits nodes, this one too if it has the token`,
    revoked: false,
  },
])("a token $name", ({ join, note, revoked }) => {
  const before = snapshotOf(token(join));
  const { snapshot, answer, events } = endNodeTokens(before, n1, WHO);
  expect(answer).toEqual(note === undefined ? [] : [note]);
  expect(events.map(({ message }) => message.includes(WHO.who))).toEqual(note === undefined ? [] : [true]);
  expect(snapshot.tokens[0]?.revokedAt).toBe(revoked ? NOW : before.tokens[0]?.revokedAt);
});

test("with a token that others share it is admitted by its old claim no more, with or without a certificate", () => {
  for (const key of ["", "k1"]) {
    const before = snapshotOf(token({ uses: 2, claims: [claim("n1", key), claim("n2", "k2")] }));
    const { snapshot } = endNodeTokens(before, n1, WHO);
    const claiming = { sha256: "s", key, now: NOW, from: "10.0.0.1" };
    expect(claimToken(before, { ...claiming, node: n1 }).ok).toBe(true);
    expect(claimToken(snapshot, { ...claiming, node: n1 })).toMatchObject({
      error: expect.stringContaining("is used up, by n1, n2") as unknown,
    });
    expect(claimToken(snapshot, { ...claiming, node: nodeId("n2"), key: "k2" }).ok).toBe(true);
  }
});
