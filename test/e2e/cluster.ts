import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import { isErrno } from "../../src/platform/files.ts";
import { callAdmin } from "./admin-call.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { until } from "./wait.ts";

/** The default of `engine_ports`: agents hand these to engines, and refuse to use one of them for anything else. */
const isEnginePort = (port: number): boolean => port >= 41_000 && port <= 41_999;

/** A port that was free a moment ago, and that no agent gives to an engine. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = await anyFreePort();
    if (!isEnginePort(port)) return port;
  }
}

function anyFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => {
        if (address !== null && typeof address === "object") resolve(address.port);
        else reject(new Error("no address"));
      });
    });
  });
}

interface ReplicaView {
  readonly id: string;
  readonly profile: string;
  readonly state: string;
  readonly reason?: string;
  readonly pid?: number;
  readonly node?: string;
  readonly restarts?: number;
  readonly endpoint?: { readonly host: string; readonly port: number; readonly tlsSha256?: string };
}

interface ClusterOptions {
  readonly auth?: "keys" | "none";
  readonly queue?: string;
  /** Further lines of agent.yaml. */
  readonly agent?: readonly string[];
}

/** A control plane with its router and one agent: real processes below one temporary folder. */
export class Cluster {
  readonly dir: string;
  readonly serverPort: number;
  readonly routerPort: number;
  server: Running | undefined;
  agent: Running | undefined;
  readonly #others: Running[] = [];
  #token: string | undefined;

  private constructor(dir: string, serverPort: number, routerPort: number) {
    this.dir = dir;
    this.serverPort = serverPort;
    this.routerPort = routerPort;
  }

  /** `queue`: of the router, as it is written in YAML. */
  static async start({ auth = "none", queue = "{}", agent = [] }: ClusterOptions = {}): Promise<Cluster> {
    const dir = await mkdtemp(join(tmpdir(), "llmgw-e2e-"));
    const cluster = new Cluster(dir, await freePort(), await freePort());
    try {
      await cluster.#writeServerConfig(auth, queue);
      await cluster.#writeAgentConfig("agent.yaml", ["node_id: node-a", ...agent]);
      await cluster.startServer();
      cluster.startAgent();
      return cluster;
    } catch (error) {
      // Whoever asked has nothing to stop yet.
      await cluster.stop();
      throw error;
    }
  }

  async #writeServerConfig(auth: "keys" | "none", queue: string): Promise<void> {
    await writeFile(
      join(this.dir, "server.yaml"),
      [
        `listen: "127.0.0.1:${String(this.serverPort)}"`,
        `router: { listen: "127.0.0.1:${String(this.routerPort)}", auth: ${auth}, queue: ${queue} }`,
        "",
      ].join("\n"),
    );
  }

  async #writeAgentConfig(name: string, lines: readonly string[]): Promise<void> {
    await writeFile(
      join(this.dir, name),
      [
        `server: "http://127.0.0.1:${String(this.serverPort)}"`,
        ...lines,
        "heartbeat_interval: 1s",
        "reconnect_base: 200ms",
        "reconnect_max: 2s",
        'metrics_listen: ""',
        `engines: { llama.cpp: { bin: "${inject("llamaServer")}" } }`,
        "supervisor: { health_interval: 500ms, stop_timeout: 10s }",
        "",
      ].join("\n"),
    );
  }

  async startServer(): Promise<void> {
    this.server = llmgw(["server", "-c", join(this.dir, "server.yaml"), "--data-dir", join(this.dir, "server")]);
    await until("the server's health", async () => (await fetch(`${this.adminUrl}/healthz`)).ok, this.#seen());
    this.#token = (await readFile(join(this.dir, "server", "admin-token"), "utf8")).trim();
  }

  startAgent(): void {
    this.agent = llmgw(["agent", "-c", join(this.dir, "agent.yaml"), "--data-dir", join(this.dir, "node")]);
  }

  /** One more node on this machine, with a data folder and ports of its own. */
  async addNode(id: string, enginePorts: string, peerListen = ""): Promise<Running> {
    const lines = [`node_id: ${id}`, `engine_ports: "${enginePorts}"`, `peer_listen: "${peerListen}"`];
    await this.#writeAgentConfig(`${id}.yaml`, lines);
    const agent = llmgw(["agent", "-c", join(this.dir, `${id}.yaml`), "--data-dir", join(this.dir, id)]);
    this.#others.push(agent);
    const joined = async (): Promise<boolean> => {
      const { nodes = [] } = await this.admin<{ nodes?: readonly { readonly id: string }[] }>("ListNodes");
      return nodes.some((node) => node.id === id);
    };
    await until(`${id} to join`, joined, this.#seen());
    return agent;
  }

  get adminUrl(): string {
    return `http://127.0.0.1:${String(this.serverPort)}`;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${String(this.routerPort)}/v1`;
  }

  get ctlEnv(): Readonly<Record<string, string>> {
    return { LLMGW_SERVER: this.adminUrl, LLMGW_TOKEN: this.#token ?? "", NO_COLOR: "1" };
  }

  #seen(): { timeoutMs: number; seen: () => string } {
    return {
      timeoutMs: 90_000,
      seen: () =>
        `server:\n${this.server?.output().slice(-4000) ?? ""}\nagent:\n${this.agent?.output().slice(-4000) ?? ""}`,
    };
  }

  admin<T>(method: string, body?: unknown): Promise<T> {
    return callAdmin({ url: this.adminUrl, token: this.#token ?? "" }, method, body);
  }

  ctl(...args: readonly string[]): ReturnType<typeof finished> {
    return finished(["ctl", ...args], { env: this.ctlEnv });
  }

  async apply(profile: Readonly<Record<string, unknown>>): Promise<void> {
    await this.admin("Apply", { manifest: JSON.stringify({ kind: "Profile", ...profile }), fileName: "test" });
  }

  async replicas(profile?: string): Promise<readonly ReplicaView[]> {
    const { replicas = [] } = await this.admin<{ replicas?: readonly ReplicaView[] }>("ListReplicas", { profile });
    return replicas;
  }

  /** Serves the tiny model with two slots, and waits until the router does. */
  async serveTiny(): Promise<void> {
    await this.apply({ name: "tiny", model: { source: "tiny:" }, context: 8192, args: ["-np", "2", "-t", "1"] });
    await this.ready("tiny");
    await this.routed();
  }

  /** Waits until the router has routes. */
  async routed(): Promise<void> {
    await until("a route", async () => (await fetch(this.baseUrl.replace("/v1", "/readyz"))).ok, this.#seen());
  }

  /** Waits until the profile has a ready replica that the router routes to. */
  async ready(profile: string): Promise<ReplicaView> {
    return until(
      `a ready replica of ${profile}`,
      async () => {
        const all = await this.replicas(profile);
        const failed = all.find((replica) => replica.state === "failed");
        if (failed !== undefined) throw new Error(`failed: ${failed.reason ?? ""}`);
        return all.find((replica) => replica.state === "ready");
      },
      this.#seen(),
    );
  }

  /** The engine's own key, read as its own user can: from the process's environment. */
  async engineKey(pid: number): Promise<string> {
    const environ = await readFile(`/proc/${String(pid)}/environ`, "utf8");
    return /(?:^|\0)LLAMA_API_KEY=([^\0]*)/.exec(environ)?.[1] ?? "";
  }

  /** Ends everything that this cluster started, engines too. */
  async stop(): Promise<void> {
    await this.agent?.end();
    for (const other of this.#others) await other.end();
    await this.server?.end();
    await killProcessesOf(this.dir);
    // An engine that is being killed may write its last line while its folder goes.
    await rm(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

/** Engines and their keepers that were started for the folder. */
export async function killProcessesOf(dir: string): Promise<void> {
  for (const pid of await processesOf(dir)) killIfThere(pid);
}

/** Whose environment has this in it. Engines outlive their agent on purpose, and a pid alone is no proof of whose it is. */
export async function processesOf(named: string): Promise<readonly number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const environs = await Promise.all(
    pids.map((pid) => readFile(`/proc/${String(pid)}/environ`, "utf8").catch(() => "")),
  );
  return pids.filter((_pid, index) => environs[index]?.includes(named));
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    // It may end between the look and the kill.
    if (!isErrno(error, "ESRCH")) throw error;
  }
}
