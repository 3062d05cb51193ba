import { createContextValues } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { AccessToken } from "../core/access-token.ts";
import { millis, nodeId } from "../core/ids.ts";
import { GRANTED_ROLES, mayDo } from "../core/roles.ts";
import { AdminService } from "../wire/gen/llmgw/v1/admin_pb.js";
import { RouterService } from "../wire/gen/llmgw/v1/router_pb.js";
import { leastRole } from "./access.ts";
import { callerGate } from "./authorise.ts";
import { CALLER, callerInWords } from "./caller.ts";
import { ORIGIN } from "./peer.ts";
import { mintToken } from "./tokens/mint-token.ts";

const NOW = millis(1_000_000);
const clock = { now: () => NOW, monotonic: () => NOW, after: () => () => undefined };
const tokens: AccessToken[] = [];
const gate = callerGate({ adminToken: "llmgw-admin-right", door: undefined, clock, loop: { snapshot: { tokens } } });

function issued(grant: AccessToken["grant"], more: Partial<AccessToken> = {}): string {
  const { secret, ...minted } = mintToken(grant.kind);
  const times = { createdAt: millis(0), expiresAt: millis(NOW + 1), revokedAt: undefined };
  tokens.push({ ...minted, grant, createdBy: "a test", ...times, ...more });
  return secret;
}

const METHODS = [...AdminService.methods, RouterService.method.session];
const status = AdminService.method.getStatus;

function asked(authorization: string | undefined, method: (typeof METHODS)[number] = status) {
  const requestHeader = new Headers(authorization === undefined ? {} : { authorization });
  const values = createContextValues().set(ORIGIN, { address: "192.0.2.7", isForwarded: false });
  gate({ requestHeader, values, method });
  return values;
}

const call = (authorization: string | undefined) => () => asked(authorization);

test.each([undefined, "", "Bearer", "llmgw-admin-right", "Basic llmgw-admin-right"])("no token: %s", (header) => {
  expect(call(header)).toThrow(/token is missing/);
});

test.each([
  "Bearer x",
  "Bearer llmgw-admin-righ",
  "Bearer llmgw-admin-right2",
  `Bearer ${"x".repeat(10_000)}`,
  "Bearer ü",
])("B118 a wrong token of any length is refused and throws nothing else: %s", (header) => {
  expect(call(header)).toThrow(/token is (wrong|missing)/);
});

test("the right one passes, in whatever case the scheme is written", () => {
  expect(call("Bearer llmgw-admin-right")).not.toThrow();
  expect(call("bearer  llmgw-admin-right ")).not.toThrow();
});

describe("a user's token", () => {
  test.each(GRANTED_ROLES)("of the role %s may make exactly the calls that its role may", (role) => {
    const secret = issued({ kind: "user", name: "alice", role });
    for (const method of METHODS) {
      const ask = () => asked(`Bearer ${secret}`, method);
      if (mayDo(role, leastRole(method))) expect(ask, method.name).not.toThrow();
      else expect(ask, method.name).toThrow(`may not call ${method.name}: that wants the role ${leastRole(method)}`);
    }
  });

  test("names its owner, and what it says of an authority changes nothing", () => {
    const secret = issued({ kind: "user", name: "bob", role: "operator" });
    const values = asked(`Bearer ${secret}.${"A".repeat(43)}`);
    expect(values.get(CALLER)).toEqual({ name: "bob (operator)", role: "operator" });
    expect(callerInWords({ values })).toBe("bob (operator) from 192.0.2.7");
  });

  test.each([
    {
      name: "expired",
      token: () => issued({ kind: "user", name: "carol", role: "viewer" }, { expiresAt: NOW }),
      why: /the token of carol expired at 1970-01-01 00:16:40 UTC: ask an admin/,
    },
    {
      name: "revoked",
      token: () => issued({ kind: "user", name: "dave", role: "viewer" }, { revokedAt: NOW }),
      why: /the token of dave was revoked/,
    },
    {
      name: "a node's",
      token: () => issued({ kind: "join", node: nodeId("n1"), uses: 1, claims: [] }),
      why: /is a join token: it admits a node and gives no orders/,
    },
    { name: "nobody's", token: () => mintToken("user").secret, why: /does not know it/ },
  ])("$name is refused", ({ token, why }) => {
    expect(call(`Bearer ${token()}`)).toThrow(why);
  });
});
