import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { callAdmin } from "../test/e2e/admin-call.ts";
import { freePort } from "../test/e2e/cluster.ts";
import { llmgw, type Running } from "../test/e2e/process.ts";
import { until } from "../test/e2e/wait.ts";
import type { FleetOrder, FleetState } from "./fleet-agents.ts";
import { REPLICAS_PER_NODE, REPLICAS_PER_PROFILE } from "./fleet-cluster.ts";
import { usageOf } from "./usage.ts";

/** A machine with other work on it takes its time; what is measured afterwards is not this. */
const PATIENCE_MS = 900_000;
/** Processes that the agents are in: one that is held up for seconds would be taken for dead, and they must not be what is slow. */
const CLIENTS = 4;
/** Profiles of one manifest. */
const APPLIED_AT_ONCE = 20;

/** What the server took while nothing happened but heartbeats. */
export interface Rest {
  /** Of one core. */
  readonly coreShare: number;
  readonly rssBytes: number;
}

/** A control plane in a process of its own, and its agents in others. */
export class FleetServer {
  readonly #dir: string;
  readonly #url: string;
  readonly #server: Running;
  readonly #clients: readonly ChildProcess[];
  readonly #states = new Map<ChildProcess, FleetState>();
  #token = "";

  private constructor(dir: string, port: number) {
    this.#dir = dir;
    this.#url = `http://127.0.0.1:${String(port)}`;
    const place = ["-c", join(dir, "server.yaml"), "--data-dir", join(dir, "server")];
    this.#server = llmgw(["server", ...place, "--log-level", "warn", "--log-format", "json"]);
    this.#clients = Array.from({ length: CLIENTS }, () =>
      fork(join(import.meta.dirname, "fleet-agents.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] }),
    );
    for (const client of this.#clients) {
      client.on("message", (state: FleetState) => {
        this.#states.set(client, state);
      });
    }
  }

  static async start(): Promise<FleetServer> {
    const dir = await mkdtemp(join(tmpdir(), "llmgw-bench-fleet-"));
    const port = await freePort();
    await writeFile(join(dir, "server.yaml"), `listen: "127.0.0.1:${String(port)}"\nrouter: { listen: "" }\n`);
    const fleet = new FleetServer(dir, port);
    try {
      await fleet.#until("the server", async () => (await fetch(`${fleet.#url}/healthz`)).ok);
      fleet.#token = (await readFile(join(dir, "server", "admin-token"), "utf8")).trim();
      return fleet;
    } catch (error) {
      await fleet.stop();
      throw error;
    }
  }

  /** How many streams broke so far. */
  get lost(): number {
    return this.#sum((state) => state.lost);
  }

  /** All agents connected, and every replica that they have room for ready. */
  async fill(nodes: number): Promise<void> {
    const share = Math.ceil(nodes / CLIENTS);
    for (const [at, client] of this.#clients.entries()) {
      const from = at * share;
      order(client, { kind: "join", server: this.#url, from, count: Math.min(share, nodes - from) });
    }
    const areConnected = (): boolean => this.#sum(({ connected }) => connected) >= nodes;
    await this.#until("the agents", areConnected);
    const replicas = nodes * REPLICAS_PER_NODE;
    const profiles = Array.from({ length: Math.ceil(replicas / REPLICAS_PER_PROFILE) }, (_, n) => ({
      ...{ kind: "Profile", name: `model-${String(n)}`, engine: "llama.cpp" },
      model: { source: `file:/models/${String(n)}.gguf` },
      replicas: Math.min(REPLICAS_PER_PROFILE, replicas - n * REPLICAS_PER_PROFILE),
      resources: { gpus: 2, memory: "16GiB" },
    }));
    for (let at = 0; at < profiles.length; at += APPLIED_AT_ONCE) {
      const documents = profiles.slice(at, at + APPLIED_AT_ONCE).map((one) => JSON.stringify(one));
      await this.call("Apply", { manifest: documents.join("\n---\n"), fileName: "fleet" });
    }
    await this.#until("the replicas", () => areConnected() && this.#sum(({ ready }) => ready) >= replicas);
  }

  async rest(ms: number): Promise<Rest> {
    const [before, began] = [await usageOf(this.#server.pid), performance.now()];
    await sleep(ms);
    const after = await usageOf(this.#server.pid);
    return { coreShare: (after.cpuMs - before.cpuMs) / (performance.now() - began), rssBytes: after.rssBytes };
  }

  /** As `rest`, while so many agents a second tell of a change of their machine. */
  async news(agents: number, ms: number): Promise<Rest> {
    for (const client of this.#clients) order(client, { kind: "news", agents: agents / CLIENTS, ms });
    return this.rest(ms);
  }

  /** Processor time that the server needed to answer, in milliseconds. The kernel counts in tens of them. */
  async cost(method: string): Promise<number> {
    const before = await usageOf(this.#server.pid);
    await this.call(method);
    return (await usageOf(this.#server.pid)).cpuMs - before.cpuMs;
  }

  call(method: string, body?: unknown): Promise<unknown> {
    return callAdmin({ url: this.#url, token: this.#token }, method, body);
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) if (client.connected) client.disconnect();
    await this.#server.end();
    await rm(this.#dir, { recursive: true, force: true });
  }

  #sum(of: (state: FleetState) => number): number {
    return [...this.#states.values()].reduce((sum, state) => sum + of(state), 0);
  }

  #until(what: string, holds: () => boolean | Promise<boolean>): Promise<unknown> {
    const seen = (): string => `${JSON.stringify([...this.#states.values()])}\n${this.#server.output().slice(-4000)}`;
    return until(what, async () => holds(), { timeoutMs: PATIENCE_MS, seen });
  }
}

const order = (client: ChildProcess, what: FleetOrder): void => {
  client.send(what);
};
