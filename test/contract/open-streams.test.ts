import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { issueClient, listIssued, revoke } from "../../src/pki/commands.ts";
import { AdminService } from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import { ScriptedAgent } from "../fakes/scripted-agent.ts";
import { ScriptedRouter } from "../fakes/scripted-router.ts";
import { serving, site, SMOL, soon, stops } from "./callers.ts";
import { certified, certifiedSite } from "./certified-site.ts";
import { overSockets, type Site } from "./site.ts";

/** A revocation acts within seconds. */
const PROMPTLY = { timeout: 8_000, interval: 50 };

async function mintUser(on: Site, name: string, role: string): Promise<Readonly<Record<string, string>>> {
  const { secret } = await on.admin.createToken({ ttlSeconds: 600, grant: { case: "user", value: { name, role } } });
  return { authorization: `Bearer ${secret}` };
}

test("a router whose token is revoked in mid-stream is told so and cut off; the others stay", async () => {
  const on = await site(overSockets);
  const headers = await mintUser(on, "edge-1", "router");
  const cut = new ScriptedRouter(on.connect(), "edge-1", headers);
  const stays = new ScriptedRouter(on.connect(), "edge-2", { authorization: `Bearer ${on.token}` });
  stops.push(
    () => cut.drop(),
    () => stays.drop(),
  );
  await expect.poll(() => [cut.table, stays.table].every((table) => table !== undefined), soon).toBe(true);
  await on.admin.revokeToken({ token: "edge-1" });
  await expect.poll(() => cut.failure, PROMPTLY).toBeInstanceOf(ConnectError);
  const refusal = ConnectError.from(cut.failure);
  expect(refusal.code).toBe(Code.Unauthenticated);
  expect(refusal.rawMessage).toBe("the token of edge-1 was revoked: ask an admin for another");
  const revision = stays.table?.revision ?? 0;
  await on.admin.apply({ manifest: SMOL });
  await expect.poll(() => stays.table?.revision ?? 0, soon).toBeGreaterThan(revision);
});

test("an operator who follows a log loses it with the token", async () => {
  const on = await site(overSockets);
  const headers = await mintUser(on, "bob", "operator");
  const { id } = await serving(on);
  const follow = async (): Promise<unknown> => {
    try {
      const client = createClient(AdminService, on.connect());
      for await (const { lines } of client.logs({ replica: id, follow: true }, { headers }))
        expect(lines).toBeDefined();
      return "it ended";
    } catch (error) {
      return ConnectError.from(error).rawMessage;
    }
  };
  const told = follow();
  await on.admin.revokeToken({ token: "bob" });
  expect(await told).toBe("the token of bob was revoked: ask an admin for another");
});

test("a router whose certificate is revoked in mid-stream is told so and cut off", async () => {
  const { on, dir, making } = await certifiedSite();
  await issueClient({ id: "edge-1", role: "router" }, making);
  const router = new ScriptedRouter(await certified(on, dir, "edge-1"), "edge-1");
  stops.push(() => router.drop());
  await expect.poll(() => router.table, soon).toBeDefined();
  await revoke("edge-1", { dir, now: millis(Date.now()) });
  await expect.poll(() => router.failure, PROMPTLY).toBeInstanceOf(ConnectError);
  expect(ConnectError.from(router.failure).rawMessage).toMatch(/certificate of edge-1 .*was revoked/);
});

test("a node that is deleted loses its certificates and its join tokens, and whoever deletes it is told", async () => {
  const { on, dir, making } = await certifiedSite();
  await on.admin.createToken({ ttlSeconds: 600, grant: { case: "join", value: { node: "n1", uses: 1 } } });
  await issueClient({ id: "n1", role: "node" }, making);
  // A person of that name is another.
  await issueClient({ id: "n1", role: "operator" }, { ...making, force: true });
  await issueClient({ id: "n1", role: "node" }, { ...making, force: true });
  await comesAndGoes(on, dir, "n1");
  await expect
    .poll(() => deleted(on, "n1"), soon)
    .toEqual([
      expect.stringMatching(/^the join token token-\w+ \(llmgw-join-\w{6}…\) for the node n1 was revoked$/),
      "2 certificates of n1 revoked",
    ]);
  const issued = (await listIssued(dir)).filter(({ name }) => name === "n1");
  expect(issued.map(({ role, revokedAt }) => [role, revokedAt !== undefined])).toEqual(
    expect.arrayContaining([
      ["node", true],
      ["operator", false],
    ]),
  );
  const comesBack = async (): Promise<string> => {
    const again = new ScriptedAgent(await certified(on, dir, "n1"), { node: "n1" });
    stops.push(() => again.drop());
    await Promise.race([again.ended, expect.poll(() => again.desired, soon).toBeDefined()]).catch(() => undefined);
    await again.drop();
    return again.failure === undefined ? "it is in" : ConnectError.from(again.failure).rawMessage;
  };
  await expect.poll(comesBack, PROMPTLY).toMatch(/was revoked/);
  const { tokens } = await on.admin.listTokens({ all: true });
  expect(tokens.map(({ state }) => state)).toEqual(["revoked"]);
  const { events } = await on.admin.listEvents({ subject: "n1" });
  expect(events.map(({ message }) => message)).toEqual(
    expect.arrayContaining(["2 certificates of n1 revoked, as the admin token from 127.0.0.1 deleted it"]),
  );
});

test("without the authority's key a deletion says what stays in force, and how to end it", async () => {
  const { on, dir, making } = await certifiedSite();
  await issueClient({ id: "n1", role: "node" }, making);
  await comesAndGoes(on, dir, "n1");
  await rm(join(dir, "ca-key.pem"));
  await expect
    .poll(() => deleted(on, "n1"), soon)
    .toEqual(["certificates of n1 stay in force: revoke them with `llmgw ctl cert revoke n1` where the authority is"]);
});

/** The node of that name joins with its certificate, and leaves. */
async function comesAndGoes(on: Site, dir: string, node: string): Promise<void> {
  const agent = new ScriptedAgent(await certified(on, dir, node), { node });
  stops.push(() => agent.drop());
  await expect.poll(() => agent.desired?.revision, soon).toBeDefined();
  await agent.drop();
}

/** What is said at the deletion; a node that is still connected is asked again. */
const deleted = (on: Site, name: string): Promise<readonly string[] | string> =>
  on.admin.delete({ kind: "node", name }).then(
    ({ notes }) => notes,
    (error: unknown) => ConnectError.from(error).rawMessage,
  );
