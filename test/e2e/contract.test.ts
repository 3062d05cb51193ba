import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { connect } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "./cluster.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { until } from "./wait.ts";

const SECRET = "hush-hush-hush";

let dir: string;
let home: string;
let token: string;
let adminUrl: string;
let routerUrl: string;
let agentPort: number;
let server: Running;
let agent: Running;
let env: Record<string, string>;

const serverYaml = (more = ""): string =>
  `listen: "${new URL(adminUrl).host}"\nstore: "sqlite:/var/lib/llmgw/server.db"\nrouter: { listen: "${new URL(routerUrl).host}" }\n${more}`;
const agentYaml = (rack: string): string =>
  [
    `server: "${adminUrl}"`,
    "node_id: node-a",
    `join_token: ${SECRET}`,
    "heartbeat_interval: 1s",
    `metrics_listen: "127.0.0.1:${String(agentPort)}"`,
    'peer_listen: ""',
    `labels: { rack: ${rack} }`,
    "",
  ].join("\n");

const address = async (): Promise<string> => `http://127.0.0.1:${String(await freePort())}`;
const startServer = (): Running =>
  llmgw(["server", "-c", join(dir, "server.yaml"), "--data-dir", join(dir, "data"), "--log-format", "json"], env);
const ctl = (...args: readonly string[]) =>
  finished(["ctl", ...args], { env: { ...env, LLMGW_SERVER: adminUrl, LLMGW_TOKEN: token } });
const seenOf = (running: Running) => ({ seen: () => running.output() });
const healthy = (running: Running): Promise<boolean> =>
  until("the control plane's health", async () => (await fetch(`${adminUrl}/healthz`)).ok, seenOf(running));

/** The admin API as curl calls it with --http2-prior-knowledge. */
async function overH2c(method: string): Promise<{ status: unknown; body: unknown }> {
  const session = connect(adminUrl);
  try {
    const stream = session.request({
      ":method": "POST",
      ":path": `/llmgw.v1.AdminService/${method}`,
      "content-type": "application/json",
      authorization: `Bearer ${token}`,
    });
    stream.setEncoding("utf8").end("{}");
    const status = new Promise<unknown>((resolve, reject) => {
      stream.once("response", (head) => {
        resolve(head[":status"]);
      });
      stream.once("error", reject);
    });
    let text = "";
    for await (const part of stream) text += String(part);
    return { status: await status, body: JSON.parse(text) };
  } finally {
    session.close();
  }
}

const overHttp1 = (method: string, bearer = token): Promise<Response> =>
  fetch(`${adminUrl}/llmgw.v1.AdminService/${method}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${bearer}` },
    body: "{}",
  });

/** Names of the metrics on a page. */
async function metricsOf(url: string): Promise<readonly string[]> {
  const text = await (await fetch(url)).text();
  return [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = ""]) => name);
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-contract-"));
  home = await mkdtemp(join(tmpdir(), "llmgw-home-"));
  env = { HOME: home, XDG_CONFIG_HOME: "", XDG_DATA_HOME: "", XDG_STATE_HOME: "", NO_COLOR: "1" };
  [adminUrl, routerUrl, agentPort] = [await address(), await address(), await freePort()];
  await writeFile(join(dir, "server.yaml"), serverYaml());
  await writeFile(join(dir, "agent.yaml"), agentYaml("r1"));
  server = startServer();
  await healthy(server);
  token = (await readFile(join(dir, "data", "admin-token"), "utf8")).trim();
  const own = join(dir, "node");
  agent = llmgw(["agent", "-c", join(dir, "agent.yaml"), "--data-dir", own, "--log-format", "json"], env);
  await until("the node", async () => (await ctl("nodes", "-o", "name")).stdout.includes("node/node-a"), seenOf(agent));
});

afterAll(async () => {
  agent.child.kill("SIGKILL");
  server.child.kill("SIGKILL");
  await Promise.all([agent.exited, server.exited]);
  await Promise.all([dir, home].map((folder) => rm(folder, { recursive: true, force: true })));
});

describe("what every command has", () => {
  test.each(["up", "server", "agent", "ctl"])("llmgw %s --help names the options of all", async (command) => {
    const help = await finished([command, "--help"], { env });
    expect({ code: help.code, stderr: help.stderr }).toEqual({ code: 0, stderr: "" });
    for (const option of ["--help", "--version", "--log-level", "--log-format"]) expect(help.stdout).toContain(option);
  });
});

describe("a control plane and an agent below folders of their own", () => {
  test("the admin API is plain JSON over HTTP/1.1 and over h2c, and asks for the token", async () => {
    const plain = await overHttp1("ListNodes");
    expect({ status: plain.status, type: plain.headers.get("content-type") }).toEqual({
      status: 200,
      type: "application/json",
    });
    const nodes = (await plain.json()) as { nodes: { id: string; state: string }[] };
    expect(nodes.nodes).toMatchObject([{ id: "node-a", state: "ready" }]);
    expect(await overH2c("GetStatus")).toMatchObject({ status: 200, body: { nodes: { ready: 1 } } });
    expect((await overHttp1("ListNodes", "wrong")).status).toBe(401);
  });

  test("every file lies below --data-dir, whatever the configuration names, and the token is its owner's alone", async () => {
    expect(await readdir(join(dir, "data"))).toEqual(expect.arrayContaining(["admin-token", "server.db"]));
    expect((await stat(join(dir, "data", "admin-token"))).mode & 0o777).toBe(0o600);
    expect(await readdir(home)).toEqual([]);
  });

  test("no secret is in a process list or in a log", async () => {
    for (const running of [server, agent]) {
      const argv = await readFile(`/proc/${String(running.pid)}/cmdline`, "utf8");
      for (const secret of [token, SECRET]) expect(`${argv}${running.output()}`).not.toContain(secret);
    }
  });

  test("health, readiness and numbers under their names", async () => {
    expect((await fetch(`${routerUrl}/healthz`)).status).toBe(200);
    expect((await fetch(`${routerUrl}/readyz`)).status).toBe(503);
    expect(await metricsOf(`${adminUrl}/metrics`)).toEqual(
      expect.arrayContaining([
        "llmgw_router_requests_total",
        "llmgw_router_in_flight",
        "llmgw_router_time_to_first_token_seconds",
        "llmgw_router_time_per_output_token_seconds",
        "llmgw_router_request_duration_seconds",
        "llmgw_router_overhead_seconds",
        "llmgw_router_tokens_total",
        "llmgw_router_retries_total",
        "llmgw_router_streams_cut_total",
        "llmgw_router_queue_depth",
        "llmgw_nodes",
        "llmgw_replicas",
        "llmgw_gpus",
        "llmgw_gpu_memory_bytes",
        "llmgw_rollouts_total",
      ]),
    );
    const ofAgent = await metricsOf(`http://127.0.0.1:${String(agentPort)}/metrics`);
    expect(ofAgent.filter((name) => !name.startsWith("llmgw_agent_"))).toEqual([]);
    expect(ofAgent).not.toEqual([]);
  });

  test("exit codes: found, not found, over time, refused", async () => {
    const codes = await Promise.all([
      ctl("wait", "node/node-a", "--timeout", "20s"),
      ctl("nodes", "node-b"),
      ctl("wait", "node/node-a", "--for", "lost", "--timeout", "1s"),
      ctl("nodes", "--token", "wrong"),
    ]);
    expect(codes.map(({ code }) => code)).toEqual([0, 3, 4, 5]);
  });

  test("SIGHUP: a new label is on the node without a restart, and what needs one is named", async () => {
    await writeFile(
      join(dir, "agent.yaml"),
      agentYaml("r2").replace("heartbeat_interval: 1s", "heartbeat_interval: 2s"),
    );
    agent.child.kill("SIGHUP");
    await until("the label", async () => (await ctl("nodes", "-o", "wide")).stdout.includes("rack=r2"), seenOf(agent));
    expect(agent.output()).toContain("in force from now on: labels");
    expect(agent.output()).toContain("a restart is needed for: heartbeat_interval");

    await writeFile(join(dir, "server.yaml"), "listn: 7443\n");
    server.child.kill("SIGHUP");
    await until("the refusal", () => server.output().includes("did you mean listen"), seenOf(server));
    await writeFile(join(dir, "server.yaml"), serverYaml("nodes: { lost_after: 10m }\nusage: { retain: 10d }\n"));
    server.child.kill("SIGHUP");
    await until(
      "what needs a restart",
      () => server.output().includes("a restart is needed for: usage"),
      seenOf(server),
    );
    expect(server.output()).toContain("in force from now on: nodes");
    expect((await fetch(`${adminUrl}/healthz`)).ok).toBe(true);
  });

  test("a second one on the same folder or the same port is refused, with the reason", async () => {
    const [folder, port] = [
      startServer(),
      llmgw(["server", "-c", join(dir, "server.yaml"), "--data-dir", join(dir, "other")], env),
    ];
    expect([await folder.exited, await port.exited]).toEqual([1, 1]);
    expect(folder.output()).toContain(String(server.pid));
    expect(port.output()).toContain("another program has this port");
  });

  test("SIGINT and SIGTERM end with 0, and what was stored is there after a restart", async () => {
    expect(await agent.end("SIGINT")).toBe(0);
    expect(await server.end("SIGTERM")).toBe(0);
    server = startServer();
    await healthy(server);
    expect((await ctl("nodes", "-o", "name")).stdout).toContain("node/node-a");
    expect(await server.end("SIGINT")).toBe(0);
  });
});
