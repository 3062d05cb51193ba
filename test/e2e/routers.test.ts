import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster, freePort } from "./cluster.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { says, TlsSite } from "./tls-site.ts";
import { until } from "./wait.ts";

/** A process of `llmgw router` below the cluster's folder. */
class RouterSite {
  readonly #file: string;
  readonly #dataDir: string;
  readonly url: string;
  readonly metricsUrl: string;
  running: Running | undefined;

  private constructor(dir: string, name: string, ports: readonly [number, number]) {
    this.#file = join(dir, `${name}.yaml`);
    this.#dataDir = join(dir, name);
    this.url = `http://127.0.0.1:${String(ports[0])}`;
    this.metricsUrl = `http://127.0.0.1:${String(ports[1])}`;
  }

  static async start(dir: string, name: string, lines: readonly string[]): Promise<RouterSite> {
    const ports = [await freePort(), await freePort()] as const;
    const site = new RouterSite(dir, name, ports);
    const listen = [`listen: "127.0.0.1:${String(ports[0])}"`, `metrics_listen: "127.0.0.1:${String(ports[1])}"`];
    await writeFile(site.#file, [...lines, ...listen, "auth: keys", ""].join("\n"));
    await site.again();
    return site;
  }

  /** Starts it with the same files, and waits until it can serve. */
  async again(): Promise<void> {
    this.running = llmgw(["router", "-c", this.#file, "--data-dir", this.#dataDir]);
    await until("the router to be ready", async () => (await fetch(`${this.url}/readyz`)).ok, {
      seen: () => this.running?.output().slice(-3_000) ?? "",
    });
  }

  ask(key: string, change: Readonly<Record<string, unknown>> = {}): Promise<Response> {
    return fetch(`${this.url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "tiny", messages: [{ role: "user", content: "Hello" }], max_tokens: 4, ...change }),
    });
  }
}

const LONG = { max_tokens: 600, stream: true, ignore_eos: true };

describe("two routers and two addresses of control planes", () => {
  let cluster: Cluster;
  let key = "";
  let a: RouterSite;
  let b: RouterSite;

  const ctl = async (...args: readonly string[]): Promise<string> => {
    const done = await cluster.ctl(...args);
    if (done.code !== 0) throw new Error(`${args.join(" ")}: ${done.stderr}`);
    return done.stdout.trim();
  };

  beforeAll(async () => {
    cluster = await Cluster.start();
    await cluster.apply({ name: "tiny", model: { source: "tiny:" }, context: 4096, args: ["-np", "4", "-t", "1"] });
    await cluster.ready("tiny");
    key = await ctl("keys", "create", "app");
    const token = /llmgw-user-[\w.-]+/.exec(await ctl("token", "create", "edge", "--role", "router"))?.[0] ?? "";
    const tokenFile = join(cluster.dir, "router-token");
    await writeFile(tokenFile, `${token}\n`, { mode: 0o600 });
    const servers = [`http://127.0.0.1:${String(await freePort())}`, cluster.adminUrl];
    const lines = [`servers: ${JSON.stringify(servers)}`, `token: "file:${tokenFile}"`, "drain: 20s"];
    a = await RouterSite.start(cluster.dir, "router-a", lines);
    b = await RouterSite.start(cluster.dir, "router-b", lines);
  });

  afterAll(async () => {
    await a.running?.end();
    await b.running?.end();
    await cluster.stop();
  });

  test("--check shows what is in force, and not the token", async () => {
    const done = await finished(["router", "-c", join(cluster.dir, "router-a.yaml"), "--check", "--data-dir", "/x"]);
    expect(done.code).toBe(0);
    expect(done.stdout).toContain("state_dir: /x/router");
    expect(done.stdout).toContain('token: "[hidden]"');
    expect(done.stdout).not.toContain("llmgw-user-");
  });

  test("kill -9 of the control plane in mid-stream: both serve on", async () => {
    const streaming = await a.ask(key, LONG);
    await cluster.server?.end("SIGKILL");
    expect((await streaming.text()).trimEnd().endsWith("data: [DONE]")).toBe(true);
    for (const router of [a, b]) expect((await router.ask(key)).status).toBe(200);
    expect((await a.ask(`${key}x`)).status).toBe(401);
  });

  test("a router that is killed and started meanwhile serves from its disk, and shows its age", async () => {
    await a.running?.end("SIGKILL");
    await a.again();
    expect(a.running?.output()).toContain("were found on disk");
    expect((await a.ask(key)).status).toBe(200);
    expect(await (await fetch(`${a.url}/readyz`)).json()).toMatchObject({ status: "ready", control_plane: "away" });
    expect(await (await fetch(`${a.metricsUrl}/metrics`)).text()).toContain(
      'llmgw_router_requests_total{model="tiny",code="200"} 1\n',
    );
    expect((await fetch(`${a.metricsUrl}/readyz`)).status).toBe(200);
  });

  test("they find the control plane again, and it hears what was used meanwhile", async () => {
    await cluster.startServer();
    await until("a connection", async () => {
      const ready = (await (await fetch(`${a.url}/readyz`)).json()) as { readonly control_plane?: string };
      return ready.control_plane === undefined;
    });
    // Of four requests the kill has cost those two that had ended in the moment before it, unless they were on disk.
    await until("the usage", async () => {
      const { rows = [] } = await cluster.admin<{ rows?: readonly { readonly requests: number }[] }>("GetUsage");
      return (rows[0]?.requests ?? 0) >= 2;
    });
  });

  test("SIGTERM: a stream in flight comes to its end, and the router ends with 0", async () => {
    const streaming = await b.ask(key, LONG);
    const ended = b.running?.end();
    expect((await streaming.text()).trimEnd().endsWith("data: [DONE]")).toBe(true);
    expect(await ended).toBe(0);
  });
});

describe("a router with a certificate", () => {
  let site: TlsSite;
  beforeAll(async () => {
    site = await TlsSite.start();
  });
  afterAll(async () => {
    await site.stop();
  });

  const start = async (name: string, role: string): Promise<Running> => {
    await site.cert("issue-client", name, "--role", role);
    const [ca, cert, keyFile] = ["ca.pem", `${name}.pem`, `${name}-key.pem`].map((file) => join(site.certs, file));
    const lines = [
      `servers: ["https://127.0.0.1:${String(site.port)}"]`,
      `server_tls: { ca: "${ca ?? ""}", cert: "${cert ?? ""}", key: "${keyFile ?? ""}" }`,
      'listen: "127.0.0.1:0"',
      'metrics_listen: ""',
      "",
    ];
    await writeFile(join(site.dir, `${name}.yaml`), lines.join("\n"));
    return llmgw(["router", "-c", join(site.dir, `${name}.yaml`), "--data-dir", join(site.dir, name)]);
  };

  test("of the role router is let in", async () => {
    const running = await start("edge-1", "router");
    await says(running, /connected to the control plane https:/);
    expect(await running.end()).toBe(0);
  });

  test("of another role is refused, and the log says why", async () => {
    const running = await start("alice", "viewer");
    await says(running, /no session with the control plane https:.*that wants the role router/);
    expect(await running.end()).toBe(0);
  });
});
