import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { usageOf } from "../../bench/usage.ts";
import { callAdmin } from "../e2e/admin-call.ts";
import { freePort, killProcessesOf } from "../e2e/cluster.ts";
import { until } from "../e2e/wait.ts";

const ROOT = resolve(import.meta.dirname, "../..");

export interface Replica {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly pid?: number;
  readonly inFlight?: number;
  readonly endpoint?: { readonly host: string; readonly port: number };
}

export interface Logged {
  readonly times: number;
  readonly attempts: number;
  readonly code: number;
}

interface Size {
  readonly streams: number;
  readonly engines: number;
  /** Milliseconds between two events of a stream. */
  readonly pace: number;
}

/** A control plane, an agent with stand-in engines and a router: each a process of its own, with its log in a file. */
export class SoakSite {
  readonly dir: string;
  readonly #ports: { readonly server: number; readonly router: number; readonly metrics: number };
  readonly #running = new Map<string, ChildProcess>();
  #token = "";
  /** The client's key. */
  key = "";

  private constructor(
    dir: string,
    ports: { readonly server: number; readonly router: number; readonly metrics: number },
  ) {
    this.dir = dir;
    this.#ports = ports;
  }

  static async start(size: Size): Promise<SoakSite> {
    const dir = await mkdtemp(join(tmpdir(), "llmgw-soak-"));
    const [server, router, metrics] = [await freePort(), await freePort(), await freePort()];
    const site = new SoakSite(dir, { server, router, metrics });
    try {
      await site.#startAll(size);
    } catch (error) {
      await site.stop();
      throw error;
    }
    return site;
  }

  get routerPort(): number {
    return this.#ports.router;
  }

  async #startAll(size: Size): Promise<void> {
    const { server, router, metrics } = this.#ports;
    await this.#start("server", [`listen: "127.0.0.1:${String(server)}"`, 'router: { listen: "" }']);
    await until("the control plane", async () => (await fetch(`http://127.0.0.1:${String(server)}/healthz`)).ok);
    this.#token = (await readFile(join(this.dir, "server", "admin-token"), "utf8")).trim();
    await this.#start("agent", [
      `server: "http://127.0.0.1:${String(server)}"`,
      "node_id: node-a",
      'metrics_listen: ""',
      'peer_listen: ""',
      `engines: { llama.cpp: { bin: "${await this.#engineProgram()}" } }`,
      "supervisor: { health_interval: 1s, stop_timeout: 5s }",
    ]);
    await this.#serve(size);
    const { secret } = await this.admin<{ secret: string }>("CreateToken", {
      ttlSeconds: 86_400,
      user: { name: "edge", role: "router" },
    });
    const tokenFile = join(this.dir, "router-token");
    await writeFile(tokenFile, secret, { mode: 0o600 });
    await this.#start("router", [
      `servers: ["http://127.0.0.1:${String(server)}"]`,
      `token: "file:${tokenFile}"`,
      `listen: "127.0.0.1:${String(router)}"`,
      `metrics_listen: "127.0.0.1:${String(metrics)}"`,
      "auth: keys",
    ]);
    await until("the key at the router", () => this.#isServed());
  }

  async #isServed(): Promise<boolean> {
    const headers = { authorization: `Bearer ${this.key}` };
    return (await fetch(`http://127.0.0.1:${String(this.#ports.router)}/v1/models/soak`, { headers })).ok;
  }

  async #serve({ streams, engines, pace }: Size): Promise<void> {
    // Those that are left hold every stream while one is away.
    const slots = Math.ceil((streams * 1.2) / Math.max(1, engines - 1));
    const args = ["-np", String(slots), "--pace", String(pace)];
    const profile = {
      kind: "Profile",
      name: "soak",
      model: { source: "tiny:" },
      context: 4_096,
      replicas: engines,
      args,
    };
    await this.admin("Apply", { manifest: JSON.stringify(profile), fileName: "soak" });
    await until("every engine", async () => (await this.ready()).length === engines, {
      timeoutMs: 180_000,
      seen: () => this.dir,
    });
    // A slot that a client who left does not give back is missing here before the run is over.
    const limits = { concurrency: Math.ceil(streams * 1.1) + 20, requestsPerMinute: 10_000_000 };
    this.key = (await this.admin<{ secret: string }>("CreateKey", { name: "soak", limits })).secret;
  }

  async #engineProgram(): Promise<string> {
    const path = join(this.dir, "llama-server");
    const program = join(ROOT, "test/fakes/paced-engine.ts");
    await writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`, { mode: 0o755 });
    return path;
  }

  async #start(role: "server" | "agent" | "router", lines: readonly string[]): Promise<void> {
    const file = join(this.dir, `${role}.yaml`);
    await writeFile(file, `${lines.join("\n")}\n`);
    const command = `exec "$0" "$1" -c "$2" --data-dir "$3" --log-format json > "$3.log" 2>&1`;
    const child = spawn("sh", ["-c", command, join(ROOT, "bin/llmgw"), role, file, join(this.dir, role)], {
      stdio: "ignore",
    });
    this.#running.set(role, child);
  }

  admin<T>(method: string, body?: unknown): Promise<T> {
    return callAdmin({ url: `http://127.0.0.1:${String(this.#ports.server)}`, token: this.#token }, method, body);
  }

  async replicas(): Promise<readonly Replica[]> {
    return (await this.admin<{ replicas?: readonly Replica[] }>("ListReplicas")).replicas ?? [];
  }

  async ready(): Promise<readonly Replica[]> {
    return (await this.replicas()).filter(({ state }) => state === "ready");
  }

  /** Requests that the control plane has in its sums. */
  async usage(): Promise<number> {
    const { rows = [] } = await this.admin<{ rows?: readonly { readonly requests: number | string }[] }>("GetUsage");
    return rows.reduce((sum, { requests }) => sum + Number(requests), 0);
  }

  /** The sum over all series of a name at the router. */
  async metric(name: string): Promise<number> {
    const text = await (await fetch(`http://127.0.0.1:${String(this.#ports.metrics)}/metrics`)).text();
    const values = text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "gm"));
    return [...values].reduce((sum, [, value]) => sum + Number(value), 0);
  }

  /** Resident memory in bytes, and open files. */
  async sizeOf(role: "server" | "router"): Promise<{ readonly bytes: number; readonly files: number }> {
    const pid = this.#running.get(role)?.pid ?? 0;
    const { rssBytes } = await usageOf(pid);
    const files = await readdir(`/proc/${String(pid)}/fd`);
    return { bytes: rssBytes, files: files.length };
  }

  /** What the router's access log says of each request; the last line counts. */
  async logged(): Promise<ReadonlyMap<string, Logged>> {
    const text = await readFile(join(this.dir, "router.log"), "utf8");
    const requests = new Map<string, Logged>();
    for (const line of text.split("\n")) {
      const [, id] = /"request_id":"(soak-[^"]*)"/.exec(line) ?? [];
      if (id === undefined) continue;
      const [, attempts, code] = /"attempts":(\d+),"code":(\d+)/.exec(line) ?? [];
      const times = (requests.get(id)?.times ?? 0) + 1;
      requests.set(id, { times, attempts: Number(attempts), code: Number(code) });
    }
    return requests;
  }

  async stop(): Promise<void> {
    for (const role of ["router", "agent", "server"]) {
      const child = this.#running.get(role);
      if (child === undefined || child.exitCode !== null) continue;
      const exited = once(child, "exit");
      child.kill("SIGTERM");
      await exited;
    }
    await killProcessesOf(this.dir);
    await rm(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
