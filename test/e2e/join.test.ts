import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { openssl, opensslVersion } from "../fakes/openssl.ts";
import { freePort } from "./cluster.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { says, TlsSite } from "./tls-site.ts";
import { until } from "./wait.ts";

const DAY_MS = 86_400_000;

let site: TlsSite;
const started: Running[] = [];
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  site = await TlsSite.start();
  env = {
    XDG_CONFIG_HOME: join(site.dir, "xdg"),
    LLMGW_SERVER: "",
    LLMGW_TOKEN: "",
    LLMGW_CA: "",
    NO_COLOR: "1",
  };
});

afterAll(async () => {
  for (const running of started) await running.end();
  await site.stop();
});

const url = (): string => `https://127.0.0.1:${String(site.port)}`;

/** With the admin token, as the operator has it. */
const ctl = (...args: readonly string[]) =>
  finished(
    [
      "ctl",
      "--server",
      url(),
      "--ca",
      join(site.certs, "ca.pem"),
      "--token-file",
      join(site.dir, "server", "admin-token"),
      ...args,
    ],
    { env },
  );

async function tokenOf(...args: readonly string[]): Promise<string> {
  const done = await ctl("token", "create", ...args, "-o", "json");
  if (done.code !== 0) throw new Error(done.stderr);
  return (JSON.parse(done.stdout) as { readonly secret: string }).secret;
}

const state = async (id: string): Promise<string | undefined> =>
  (await site.nodes()).find((node) => node.id === id)?.state;

async function startAgent(folder: string): Promise<Running> {
  const yaml = join(folder, "agent.yaml");
  const text = await readFile(yaml, "utf8");
  const quiet = text.includes("reconnect_max") ? "" : 'metrics_listen: ""\npeer_listen: ""\nreconnect_max: 2s\n';
  await writeFile(yaml, `${text}${quiet}`);
  const agent = llmgw(["agent", "-c", yaml, "--data-dir", folder]);
  started.push(agent);
  return agent;
}

test("from token create to a ready node: one command on the node", async () => {
  const created = await ctl("token", "create", "--node", "gpu-a-01");
  expect(created.stderr).toMatch(/The token admits one node within 1h/);
  const line = created.stdout.trim();
  expect(line).toMatch(
    /^llmgw agent join https:\/\/127\.0\.0\.1:\d+ --token llmgw-join-\w{43}\.[\w-]{43} --node-id gpu-a-01$/,
  );

  const folder = join(site.dir, "pasted");
  const [, ...words] = line.split(" ");
  const joined = await finished([...words, "--data-dir", folder], { env });
  expect(joined.stderr).toContain("gpu-a-01 may join");
  expect(joined).toMatchObject({ code: 0, stdout: `llmgw agent -c ${folder}/agent.yaml --data-dir ${folder}\n` });
  const files = (await readdir(folder)).filter((name) => name !== "cache");
  expect(files).toEqual(["agent-key.pem", "agent.pem", "agent.yaml", "ca.pem"]);
  expect((await stat(join(folder, "agent-key.pem"))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, "agent.yaml"), "utf8")).not.toContain("llmgw-join-");

  await startAgent(folder);
  await until("gpu-a-01 to be ready", async () => (await state("gpu-a-01")) === "ready");

  // The same command again: first the files are in the way, then the token is used up.
  const again = await finished([...words, "--data-dir", folder], { env });
  expect(again.stderr).toMatch(/has a configuration already: .*agent\.yaml.*--force/);
  expect(again.code).toBe(1);
  const forced = await finished([...words, "--data-dir", folder, "--force"], { env });
  expect(forced.stderr).toMatch(/does not admit this machine: the join token is used up, by gpu-a-01/);
  expect(forced.code).toBe(5);
  expect(await state("gpu-a-01")).toBe("ready");
});

test.skipIf(opensslVersion === undefined)("openssl agrees with a certificate that was signed on request", () => {
  expect(openssl(["verify", "-CAfile", join(site.certs, "ca.pem"), "pasted/agent.pem"], site.dir)).toContain("OK");
});

describe("a join that comes to nothing ends with 5 and a sentence, and writes nothing", () => {
  test.each<{ readonly name: string; readonly args: () => Promise<readonly string[]>; readonly why: RegExp }>([
    {
      name: "a token for another node",
      args: async () => [url(), "--token", await tokenOf("--node", "theirs"), "--node-id", "mine"],
      why: /the join token is for the node theirs, and this one says that it is mine/,
    },
    {
      name: "half a token",
      args: async () => [url(), "--token", (await tokenOf()).slice(0, 30)],
      why: /This is no join token: was it copied whole\?/,
    },
  ])("$name", async ({ args, why }) => {
    const folder = join(site.dir, "nothing");
    const done = await finished(["agent", "join", ...(await args()), "--data-dir", folder], { env });
    expect(done.stderr).toMatch(why);
    expect(done).toMatchObject({ code: 5, stdout: "" });
    expect(await readdir(folder).catch(() => [])).not.toContain("agent.yaml");
  });

  test("nobody there is 1, and the token may come from stdin", async () => {
    const input = await tokenOf();
    const nobody = `https://127.0.0.1:${String(await freePort())}`;
    const done = await finished(["agent", "join", nobody, "--data-dir", join(site.dir, "nothing")], { env, input });
    expect(done.stderr).toMatch(/cannot be reached: .*Nothing was written/);
    expect(done.code).toBe(1);
  });
});

test("join_token in agent.yaml: the agent gets its certificate at its start, and needs the token no more", async () => {
  const folder = join(site.dir, "configured");
  await mkdir(folder, { recursive: true });
  const lines = [`server: "${url()}"`, "node_id: gpu-b-01", `join_token: "${await tokenOf()}"`, ""];
  await writeFile(join(folder, "agent.yaml"), lines.join("\n"));
  const agent = await startAgent(folder);
  await until("gpu-b-01 to be ready", async () => (await state("gpu-b-01")) === "ready");
  expect(agent.output()).toMatch(/the join token got gpu-b-01 its certificate/);
  expect(agent.output()).not.toMatch(/llmgw-join-/);
  expect(await agent.end()).toBe(0);

  const pki = join(folder, "agent", "pki");
  expect((await stat(join(pki, "agent-key.pem"))).mode & 0o777).toBe(0o600);
  const second = await startAgent(folder);
  await says(second, /connected to/);
  expect(second.output()).not.toMatch(/got gpu-b-01 its certificate/);
  expect(await second.end()).toBe(0);
});

test("B157 an expired certificate: what to do is said, without haste, and a join token brings another", async () => {
  const past = { now: millis(Date.now() - 3 * DAY_MS), commonName: "node-z" };
  await site.forge("node-z", { ...past, names: [{ kind: "dns", value: "node-z" }] });
  const folder = await site.agentFiles("returned", "node-z", "node-z");
  const yaml = join(folder, "agent.yaml");
  const agent = llmgw(["agent", "-c", yaml, "--data-dir", folder]);
  started.push(agent);
  await says(agent, /refuses this node: .*it expired at .*`llmgw ctl cert issue-client`.*next try in 2s/);
  expect(await agent.end()).toBe(0);

  await writeFile(yaml, `${await readFile(yaml, "utf8")}join_token: "${await tokenOf("--node", "node-z")}"\n`);
  const returned = llmgw(["agent", "-c", yaml, "--data-dir", folder]);
  started.push(returned);
  await says(returned, /the join token got node-z its certificate[^]*connected to/);
  expect(await returned.end()).toBe(0);

  await site.cert("revoke", "node-z");
  const revoked = llmgw(["agent", "-c", yaml, "--data-dir", folder]);
  started.push(revoked);
  await says(revoked, /refuses this node: .*it was revoked/);
  expect(await revoked.end()).toBe(0);
});

test("login: with a token alone, the authority comes by its hash; the file is the owner's, and roles hold", async () => {
  const input = await tokenOf("vera", "--role", "viewer");
  const login = await finished(["ctl", "login", url(), "--context", "lab"], { env, input });
  expect(login.stderr).toMatch(/It is the context "lab"/);
  expect(login).toMatchObject({ code: 0, stdout: `Logged in to ${url()} as vera (viewer).\n` });
  const contexts = join(site.dir, "xdg", "llmgw", "contexts.yaml");
  expect((await stat(contexts)).mode & 0o777).toBe(0o600);
  const nodes = await finished(["ctl", "nodes", "-o", "name"], { env });
  expect(nodes.stdout).toContain("node/gpu-a-01");
  const cordon = await finished(["ctl", "--context", "lab", "cordon", "gpu-a-01"], { env });
  expect(cordon.stderr).toMatch(/vera \(viewer\) may not call Cordon: that wants the role operator/);
  expect(cordon.code).toBe(5);

  expect((await ctl("token", "revoke", "vera")).code).toBe(0);
  const after = await finished(["ctl", "nodes"], { env });
  expect(after.stderr).toMatch(/refuses: the token of vera was revoked/);
  expect(after.code).toBe(5);
  const wrong = await finished(["ctl", "login", url(), "--ca", join(site.certs, "ca.pem")], {
    env,
    input: "llmgw-admin-no",
  });
  expect(wrong.stderr).toMatch(/the admin token is wrong/);
  expect(wrong.code).toBe(5);
  expect(await readFile(contexts, "utf8")).not.toContain("llmgw-admin-no");
});

test("tokens are listed without themselves, and what was ordered with who ordered it", async () => {
  const list = await ctl("token", "list", "--all");
  expect(list.stdout).toMatch(/^ID +TOKEN +FOR +STATE +USES LEFT +EXPIRES +AGE\n/);
  expect(list.stdout).toMatch(/token-\w{8} +llmgw-join-\w{6}… +node gpu-a-01 +used up +0\/1/);
  expect(list.stdout).toMatch(/llmgw-user-\w{6}… +vera \(viewer\) +revoked +-/);
  await ctl("cordon", "gpu-a-01");
  const events = await ctl("events", "--subject", "gpu-a-01");
  expect(events.stdout).toMatch(/Ordered +the admin token from 127\.0\.0\.1: node gpu-a-01 cordoned/);
});

const outside = Object.values(networkInterfaces())
  .flat()
  .find((one) => one?.family === "IPv4" && !one.internal)?.address;
if (outside === undefined) console.log("skipped: this machine has no address but loopback");

test.skipIf(outside === undefined)("plain http off loopback: one warning, and nodes need a join token", async () => {
  const folder = join(site.dir, "plain");
  const port = String(await freePort());
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "server.yaml"), `listen: "0.0.0.0:${port}"\nrouter: { listen: "" }\n`);
  const server = llmgw(["server", "-c", join(folder, "server.yaml"), "--data-dir", join(folder, "server")]);
  started.push(server);
  await says(server, /control plane started/);
  expect(server.output().match(/speaks plain http/g)).toHaveLength(1);

  const address = `http://${outside ?? ""}:${port}`;
  const node = join(folder, "node");
  await mkdir(node, { recursive: true });
  await writeFile(join(node, "agent.yaml"), `server: "${address}"\nnode_id: plain-1\n`);
  const without = await startAgent(node);
  await says(without, /refuses this node: a join token is needed, and none was shown/);
  expect(without.output().match(/is plain http: anyone on the way can read along/g)).toHaveLength(1);
  expect(await without.end()).toBe(0);
  await rm(node, { recursive: true });

  const create = await finished(
    ["ctl", "--server", address, "--token-file", join(folder, "server", "admin-token"), "token", "create"],
    { env },
  );
  const [, ...words] = create.stdout.trim().split(" ");
  const joined = await finished([...words, "--node-id", "plain-1", "--data-dir", node], { env });
  expect({ code: joined.code, stderr: joined.stderr }).toMatchObject({ code: 0 });
  expect((await stat(join(node, "join-token"))).mode & 0o777).toBe(0o600);
  const first = await startAgent(node);
  await says(first, /connected to/);
  expect(await first.end()).toBe(0);
  const again = await startAgent(node);
  await says(again, /connected to/);
});
