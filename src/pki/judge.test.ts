import { X509Certificate } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { DAY, issuing, type Issuing, NOW } from "../../test/fakes/issuing.ts";
import { GRANTED_ROLES } from "../core/roles.ts";
import { millis } from "../core/ids.ts";
import { keyHash } from "./certificate.ts";
import { judgeNode, type Judging, judgeRole } from "./judge.ts";
import { issue, type Leaf, openAuthority } from "./make.ts";
import { ORGANIZATION_OF, revocationKey } from "./roles.ts";

let ours: Issuing;
let other: Issuing;

beforeAll(async () => {
  ours = await issuing();
  other = await issuing();
});

const judging = (certificates: readonly X509Certificate[], changes: Partial<Judging> = {}): Judging => ({
  certificates,
  trust: { authorities: [ours.certificate], revoked: new Set() },
  now: NOW,
  ...changes,
});

interface Case {
  readonly name: string;
  readonly id?: string;
  readonly leaf?: Partial<Leaf>;
  readonly claimed?: string;
  readonly at?: number;
  readonly why: RegExp;
}

const BAD: readonly Case[] = [
  { name: "another node's", id: "node-b", why: /of node-b .*: it names node-b, but the agent says that it is node-a$/ },
  {
    name: "one that differs in case alone",
    id: "Node-A",
    why: /it names Node-A, but the agent says that it is node-a; ids are compared exactly, with upper and lower case$/,
  },
  {
    name: "one that is over",
    at: NOW + 366 * DAY,
    why: /it expired at 2027-11-30 12:00:00 UTC, and the control plane's clock says 2027-12-01 12:00:00 UTC; issue a new one/,
  },
  {
    name: "one that begins later",
    leaf: { notBefore: millis(NOW + 2 * DAY) },
    why: /it is not valid before 2026-12-02 12:00:00 UTC, and the control plane's clock says 2026-11-30 12:00:00 UTC$/,
  },
  {
    name: "a server's",
    leaf: { usage: "server" },
    why: /usage does not allow clients .*: it is a server's certificate$/,
  },
  {
    name: "one with addresses alone",
    leaf: { names: [{ kind: "ip", value: "192.0.2.1" }] },
    why: /must carry the node's id node-a as a DNS name .*, but its names are only addresses IP:192\.0\.2\.1$/,
  },
  {
    name: "one with another DNS name",
    leaf: { names: [{ kind: "dns", value: "node-b" }] },
    why: /must carry the node's id node-a as a DNS name .*, but its names are only DNS:node-b$/,
  },
  {
    name: "one with a name that would pass for two",
    leaf: { names: [{ kind: "dns", value: "x, DNS:node-a, DNS:y" }] },
    why: /must carry the node's id node-a/,
  },
  {
    name: "an operator's",
    leaf: { organization: ORGANIZATION_OF.admin },
    why: /carries the admin role: .* no node's$/,
  },
  {
    name: "a router's",
    leaf: { organization: ORGANIZATION_OF.router },
    why: /it is a router's certificate and no node's$/,
  },
  { name: "one without a name", leaf: { commonName: "" }, why: /without a common name .*: it names nobody/ },
  {
    name: "one of an authority that is over",
    at: NOW + 3651 * DAY,
    why: /the authority llmgw authority .* is valid from 2026-11-30 .* to 2036-11-27 .*, and the control plane's clock says/,
  },
];

describe("a node's certificate is refused, with the reason", () => {
  test.each(BAD)("$name", async ({ id = "node-a", leaf, claimed = "node-a", at = NOW, why }) => {
    const { parsed } = await ours.leaf(id, leaf);
    const judged = judgeNode(claimed, judging([parsed], { now: millis(at) }));
    expect(judged.ok ? "let in" : judged.error).toMatch(why);
  });

  test("another authority's, whatever it says of itself", async () => {
    const { parsed } = await other.leaf("node-a");
    const judged = judgeNode("node-a", judging([parsed, other.certificate]));
    expect(judged.ok ? "let in" : judged.error).toMatch(
      /not of an authority that this control plane trusts: .* CN=llmgw/,
    );
  });

  test("an authority's own", () => {
    const judged = judgeNode("node-a", judging([ours.certificate]));
    expect(judged.ok).toBe(false);
  });

  test("one that was signed with a node's key", async () => {
    const node = await ours.leaf("node-b");
    const forger = openAuthority(node);
    if (!forger.ok) throw new Error(forger.error);
    const names = [{ kind: "dns", value: "node-a" }] as const;
    const lifetime = millis(DAY);
    const forged = await issue(forger.value, { commonName: "node-a", names, usage: "client", now: NOW, lifetime });
    const chain = [new X509Certificate(forged.certificate), node.parsed, ours.certificate];
    const judged = judgeNode("node-a", judging(chain));
    expect(judged.ok ? "let in" : judged.error).toMatch(/not of an authority that this control plane trusts/);
  });

  test("one that was revoked", async () => {
    const { parsed } = await ours.leaf("node-a");
    const revoked = new Set([revocationKey(keyHash(ours.certificate), parsed.serialNumber)]);
    const trust = { authorities: [ours.certificate], revoked };
    const judged = judgeNode("node-a", judging([parsed], { trust }));
    expect(judged.ok ? "let in" : judged.error).toMatch(/: it was revoked$/);
    const { parsed: next } = await ours.leaf("node-a");
    expect(judgeNode("node-a", judging([next], { trust })).ok).toBe(true);
  });

  test("none at all", () => {
    const judged = judgeNode("node-a", judging([]));
    expect(judged.ok ? "let in" : judged.error).toMatch(/no certificate was shown/);
  });
});

describe("a node's certificate passes", () => {
  test.each<{ readonly name: string; readonly id: string; readonly leaf?: Partial<Leaf> }>([
    { name: "a plain one", id: "node-a" },
    { name: "an id with upper case", id: "GPU-A_01" },
    { name: "an id that is an address", id: "192.0.2.7", leaf: { names: [{ kind: "ip", value: "192.0.2.7" }] } },
    {
      name: "one with further names",
      id: "node-a",
      leaf: {
        names: [
          { kind: "ip", value: "192.0.2.7" },
          { kind: "dns", value: "node-a" },
        ],
      },
    },
  ])("$name", async ({ id, leaf }) => {
    const { parsed } = await ours.leaf(id, leaf);
    expect(judgeNode(id, judging([parsed]))).toMatchObject({ ok: true });
  });

  test("with two authorities in force, of either", async () => {
    const trust = { authorities: [other.certificate, ours.certificate], revoked: new Set<string>() };
    for (const maker of [ours, other]) {
      expect(judgeNode("node-a", judging([(await maker.leaf("node-a")).parsed], { trust })).ok).toBe(true);
    }
  });
});

test.each(GRANTED_ROLES)("the role %s is read from the organization", async (role) => {
  const alice = await ours.leaf("alice", { organization: ORGANIZATION_OF[role] });
  const judged = judgeRole(judging([alice.parsed]));
  expect(judged).toMatchObject({ ok: true, value: { role, name: "alice" } });
  expect(judgeNode("alice", judging([alice.parsed])).ok).toBe(false);
  const foreign = await other.leaf("alice", { organization: ORGANIZATION_OF[role] });
  expect(judgeRole(judging([foreign.parsed])).ok).toBe(false);
});

test("a node's certificate carries no role", async () => {
  const node = judgeRole(judging([(await ours.leaf("node-a")).parsed]));
  expect(node.ok ? "let in" : node.error).toMatch(/it carries no role, so it may be a node and nothing else$/);
});
