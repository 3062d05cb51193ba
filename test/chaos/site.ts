import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freeLoopbackPort } from "../../src/platform/free-port.ts";
import { listProcesses, type ProcessStat } from "../../src/platform/proc.ts";
import { callAdmin } from "../e2e/admin-call.ts";
import { llmgw, type Running } from "../e2e/process.ts";
import { until } from "../e2e/wait.ts";
import type { LastingRouterReady } from "./lasting-router.ts";
import { SeveredLink } from "./severed-link.ts";

export interface ReplicaView {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly pid?: number;
  readonly restarts?: number;
  readonly endpoint?: { readonly host: string; readonly port: number };
}

export const PROFILE = "tiny";

/** Of an agent that is hit every few seconds: it notices and comes back within them. */
const QUICK = [
  "heartbeat_interval: 1s",
  "reconnect_base: 200ms",
  "reconnect_max: 2s",
  'metrics_listen: ""',
  "supervisor: { health_interval: 500ms, stop_timeout: 10s }",
];

/** Real processes: a control plane, an agent that reaches it over a network that can fail, and a router that lasts. */
export class Site {
  readonly dir: string;
  readonly link: SeveredLink;
  readonly #serverPort: number;
  #router: ChildProcess | undefined;
  routerUrl = "";
  server: Running | undefined;
  agent: Running | undefined;
  #token = "";

  private constructor(dir: string, link: SeveredLink, serverPort: number) {
    this.dir = dir;
    this.link = link;
    this.#serverPort = serverPort;
  }

  /** `settings` are the lines of the agent's configuration that say how it works. */
  static async start(llamaServer: string, settings: readonly string[] = QUICK): Promise<Site> {
    const dir = await mkdtemp(join(tmpdir(), "llmgw-chaos-"));
    const serverPort = await freeLoopbackPort();
    const site = new Site(dir, await SeveredLink.to(serverPort), serverPort);
    await site.#writeConfigs(llamaServer, settings);
    await site.startServer();
    await site.#startRouter();
    site.startAgent();
    return site;
  }

  async #startRouter(): Promise<void> {
    const program = join(import.meta.dirname, "lasting-router.ts");
    const router = fork(program, [this.#adminUrl], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env: { ...process.env, LLMGW_TOKEN: this.#token },
    });
    const [ready] = (await once(router, "message")) as [LastingRouterReady];
    this.#router = router;
    this.routerUrl = ready.url;
  }

  async #writeConfigs(llamaServer: string, settings: readonly string[]): Promise<void> {
    const server = [
      `listen: "127.0.0.1:${String(this.#serverPort)}"`,
      'router: { listen: "", auth: none }',
      // Short, so that cuts of a few seconds make the node unreachable too.
      "nodes: { unreachable_after: 3s }",
    ];
    const agent = [
      `server: "http://127.0.0.1:${String(this.link.port)}"`,
      "node_id: node-a",
      `engines: { llama.cpp: { bin: "${llamaServer}" } }`,
      ...settings,
    ];
    await writeFile(join(this.dir, "server.yaml"), `${server.join("\n")}\n`);
    await writeFile(join(this.dir, "agent.yaml"), `${agent.join("\n")}\n`);
  }

  async startServer(): Promise<void> {
    const started = llmgw(["server", "-c", join(this.dir, "server.yaml"), "--data-dir", join(this.dir, "server")]);
    this.server = started;
    await until("the control plane's health", async () => (await fetch(`${this.#adminUrl}/healthz`)).ok, {
      seen: () => this.output(),
    });
    this.#token = (await readFile(join(this.dir, "server", "admin-token"), "utf8")).trim();
  }

  startAgent(): Running {
    const started = llmgw(["agent", "-c", join(this.dir, "agent.yaml"), "--data-dir", join(this.dir, "node")]);
    this.agent = started;
    return started;
  }

  get #adminUrl(): string {
    return `http://127.0.0.1:${String(this.#serverPort)}`;
  }

  /** What both said last, for whoever has to find out what went wrong. */
  output(): string {
    const of = (running: Running | undefined): string => running?.output().slice(-3000) ?? "";
    return `control plane:\n${of(this.server)}\nagent:\n${of(this.agent)}`;
  }

  #admin<T>(method: string, body?: unknown): Promise<T> {
    return callAdmin({ url: this.#adminUrl, token: this.#token }, method, body);
  }

  async apply(profile: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#admin("Apply", { manifest: JSON.stringify({ kind: "Profile", ...profile }), fileName: "chaos" });
  }

  async replicas(): Promise<readonly ReplicaView[]> {
    const { replicas = [] } = await this.#admin<{ replicas?: readonly ReplicaView[] }>("ListReplicas");
    return replicas;
  }

  /** The engine processes on this machine that the site's agent started, whatever anybody reports of them; no keepers. */
  async engines(): Promise<readonly ProcessStat[]> {
    const mark = `LLMGW_REPLICA=${this.dir}`;
    const all = await listProcesses();
    const environments = await Promise.all(
      all.map(({ pid }) => readFile(`/proc/${String(pid)}/environ`, "utf8").catch(() => "")),
    );
    const isMarked = (index: number): boolean =>
      environments[index]?.split("\0").some((entry) => entry.startsWith(mark)) ?? false;
    return all.filter(({ pid, session }, index) => pid !== session && isMarked(index));
  }

  /** Ends everything that the site started, engines too. */
  async stop(): Promise<void> {
    await Promise.all([this.agent?.end("SIGKILL"), this.server?.end("SIGKILL")]);
    this.#router?.disconnect();
    for (const { pid } of await this.engines()) process.kill(pid, "SIGKILL");
    await this.link.close();
    await until("the engines' end", async () => (await this.engines()).length === 0);
    // An engine that was killed may write its last line while its folder goes.
    await rm(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
