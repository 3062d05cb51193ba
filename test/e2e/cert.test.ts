import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finished } from "./process.ts";

let dir = "";
/** With no control plane, and none named. */
const cert = (...args: readonly string[]) =>
  finished(["ctl", "cert", ...args], {
    env: { XDG_CONFIG_HOME: dir, LLMGW_SERVER: "", LLMGW_TOKEN: "", LLMGW_CA: "", NO_COLOR: "1" },
  });

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-cert-e2e-"));
  await cert("init", "--dir", dir);
});

afterAll(async () => {
  await rm(dir, { recursive: true });
});

test.each<{ readonly name: string; readonly args: readonly string[]; readonly code: number; readonly why: RegExp }>([
  {
    name: "again",
    args: ["init"],
    code: 1,
    why: /ca\.pem and .*ca-key\.pem are there already; --force writes over them/,
  },
  { name: "no id", args: ["issue-client", "no id"], code: 2, why: /"no id" is no id of a node/ },
  {
    name: "two bad names",
    args: ["issue-server", "a:1", "b..c"],
    code: 2,
    why: /"a:1" .*port out\n"b\.\.c" is neither/,
  },
  {
    name: "no days",
    args: ["issue-client", "n", "--days", "0"],
    code: 2,
    why: /--days takes a whole number of at least 1/,
  },
  {
    name: "an age of days",
    args: ["issue-client", "n", "--days", "99999"],
    code: 2,
    why: /--days takes at most 36500/,
  },
  { name: "no such role", args: ["issue-client", "n", "--role", "root"], code: 2, why: /admin/ },
  { name: "an unknown name", args: ["revoke", "nobody"], code: 3, why: /has the name or serial number "nobody"/ },
])("an exit code and a reason for $name", async ({ args, code, why }) => {
  const done = await cert(...args, "--dir", dir);
  expect(done.stderr).toMatch(why);
  expect(done).toMatchObject({ code, stdout: "" });
});

test("without an authority the way to one is told", async () => {
  const done = await cert("list", "--dir", join(dir, "none"));
  expect(done.stderr).toMatch(/There is no authority in .*none: `llmgw ctl cert init --dir .*none` makes one/);
  expect(done.code).toBe(3);
});

test.each([
  { role: "node", says: /^agent\.yaml on that node: tls: \{ ca: / },
  { role: "router", says: /^router\.yaml: server_tls: \{ ca: / },
  { role: "viewer", says: /^llmgw ctl login https:\/\/HOST:7443 --ca / },
])("a certificate for a $role comes with the place where it is named", async ({ role, says }) => {
  const folder = join(dir, role);
  await cert("init", "--dir", folder);
  const made = await cert("issue-client", "edge-1", "--role", role, "--dir", folder);
  expect(made.code).toBe(0);
  expect(made.stderr).toMatch(says);
});

test("issued, listed and revoked, for people and for scripts", async () => {
  const made = await cert("issue-client", "node-a", "--days", "30", "--dir", dir, "-o", "json");
  const entry = JSON.parse(made.stdout) as Readonly<Record<string, unknown>>;
  expect(entry).toMatchObject({ name: "node-a", role: "node", state: "valid", names: ["node-a"] });
  expect(await readFile(String(entry["key"]), "utf8")).toMatch(/^-----BEGIN PRIVATE KEY-----/);
  expect(made.stdout + made.stderr).not.toContain("PRIVATE KEY");

  const list = await cert("list", "--dir", dir);
  expect(list.stdout).toMatch(/^NAME +ROLE +STATE +EXPIRES +SERIAL\nnode-a +node +valid +in 29d +[0-9A-F]+\n$/);
  const revoked = await cert("revoke", String(entry["serial"]), "--dir", dir);
  expect(revoked).toMatchObject({ code: 0, stdout: `node-a revoked, serial ${String(entry["serial"])}\n` });
  const after = JSON.parse((await cert("list", "--dir", dir, "-o", "json")).stdout) as Readonly<
    Record<string, unknown>
  >;
  expect(after).toMatchObject({ certificates: [{ name: "node-a", state: "revoked" }] });
  expect((await cert("list", "--dir", dir, "-o", "name")).stdout).toBe("node-a\n");
});
