import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { hasEnded, lookAtProcess } from "../../src/platform/proc.ts";
import { makeAdapter } from "../fakes/sysfs-tree.ts";
import { callAdmin } from "./admin-call.ts";
import { freePort, killProcessesOf, processesOf } from "./cluster.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { until } from "./wait.ts";

const STAND_IN = resolve(import.meta.dirname, "../fakes/stand-in-gang-engine.ts");
const NODE = [process.execPath, "--disable-warning=ExperimentalWarning"].map((word) => `'${word}'`).join(" ");

export interface RankView {
  readonly rank?: number;
  readonly node: string;
  readonly state: string;
  readonly note?: string;
  readonly pid?: number;
}

export interface GangReplica {
  readonly id: string;
  readonly state: string;
  readonly reason?: string;
  readonly node?: string;
  readonly restarts?: number;
  readonly rejections?: readonly { readonly node: string; readonly filter: string; readonly reason: string }[];
  readonly gang?: {
    readonly fabric: string;
    readonly attempt: number;
    readonly ranks: readonly RankView[];
    readonly check?: string;
    readonly lastEnd?: string;
  };
}

/** An agent on this machine that is a node of its own: an address, ports, GPUs, a fabric and a data folder. */
export interface NodeSpec {
  readonly id: string;
  readonly address: string;
  readonly ports: string;
  readonly fabric: string;
  /** A line of its configuration. Left out: the stand-ins. */
  readonly engines?: string;
}

/** A control plane with its router, and agents whose GPUs, fabric and engines are stand-ins. All processes are real. */
export class GangSite {
  readonly dir: string;
  readonly #server: Running;
  readonly #serverPort: number;
  readonly #routerPort: number;
  readonly #agents = new Map<string, Running>();
  #token = "";

  private constructor(dir: string, server: Running, ports: readonly [number, number]) {
    this.dir = dir;
    this.#server = server;
    [this.#serverPort, this.#routerPort] = ports;
  }

  static async start(): Promise<GangSite> {
    const dir = await mkdtemp(join(tmpdir(), "llmgw-gang-"));
    const [port, routerPort] = [await freePort(), await freePort()];
    const lines = [
      `listen: "127.0.0.1:${String(port)}"`,
      `router: { listen: "127.0.0.1:${String(routerPort)}", auth: none }`,
      "nodes: { unreachable_after: 3s, lost_after: 8s, brake: 0.9 }",
    ];
    await writeFile(join(dir, "server.yaml"), `${lines.join("\n")}\n`);
    const server = llmgw(["server", "-c", join(dir, "server.yaml"), "--data-dir", join(dir, "server")]);
    const site = new GangSite(dir, server, [port, routerPort]);
    try {
      await until("the server", async () => (await fetch(`${site.#url}/healthz`)).ok, site.seen());
      site.#token = (await readFile(join(dir, "server", "admin-token"), "utf8")).trim();
      await site.#makePrograms();
      await site.#makeModel();
      return site;
    } catch (error) {
      // Whoever asked has nothing to stop yet.
      await site.stop();
      throw error;
    }
  }

  async #makePrograms(): Promise<void> {
    for (const [name, kind] of [
      ["vllm", "vllm"],
      ["python", "sglang"],
    ] as const) {
      await this.#program(name, `exec ${NODE} '${STAND_IN}' ${kind} "$@"`);
    }
  }

  /** vLLM on the real Ray, in place of what the other stand-in has by itself. Lines for each agent's configuration. */
  async rayProgram(bin: string): Promise<string> {
    const program = resolve(import.meta.dirname, "../fakes/stand-in-vllm-ray.py");
    const path = await this.#program("vllm-on-ray", `exec '${join(bin, "python")}' '${program}' "$@"`);
    return `engines: { vllm: { bin: "${path}", launch_mode: ray, ray_bin: "${join(bin, "ray")}" } }`;
  }

  async #program(name: string, script: string): Promise<string> {
    const path = join(this.dir, name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  }

  /** Eight heads; two bytes of weights. */
  async #makeModel(): Promise<void> {
    const shape = { num_attention_heads: 8, num_hidden_layers: 4, num_key_value_heads: 8, hidden_size: 64 };
    const header = JSON.stringify({ a: { dtype: "BF16", shape: [1], data_offsets: [0, 2] } });
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(header.length));
    await mkdir(this.model, { recursive: true });
    const config = { ...shape, architectures: ["LlamaForCausalLM"], max_position_embeddings: 4096, vocab_size: 64 };
    await writeFile(join(this.model, "config.json"), JSON.stringify(config));
    await writeFile(
      join(this.model, "model.safetensors"),
      Buffer.concat([length, Buffer.from(header), Buffer.alloc(2)]),
    );
  }

  get model(): string {
    return join(this.dir, "model");
  }

  get #url(): string {
    return `http://127.0.0.1:${String(this.#serverPort)}`;
  }

  /** Starts their agents and waits until all have joined. */
  async addNodes(...nodes: readonly NodeSpec[]): Promise<void> {
    await Promise.all(nodes.map((node) => this.#addNode(node)));
  }

  async #addNode({ id, address, ports, fabric, ...rest }: NodeSpec): Promise<void> {
    const sysfs = join(this.dir, `${id}-sysfs`);
    await makeAdapter(sysfs, "mlx5_0");
    const row = `0, NVIDIA H100, GPU-${id}, 81559, 81000, 559, 570.1, 9.0, 00000000:1B:00.0, Disabled, 0, No`;
    const smi = await this.#program(`nvidia-smi-${id}`, `case "$*" in *query-gpu*) echo '${row}';; esac`);
    const engines = `engines: { vllm: { bin: "${join(this.dir, "vllm")}" }, sglang: { python: "${join(this.dir, "python")}" } }`;
    const lines = [
      `server: "${this.#url}"`,
      `node_id: ${id}`,
      `mgmt_addr: "${address}"`,
      `engine_ports: "${ports}"`,
      'metrics_listen: ""',
      'peer_listen: ""',
      "heartbeat_interval: 500ms",
      "reconnect_base: 200ms",
      "reconnect_max: 1s",
      rest.engines ?? engines,
      `discovery: { nvidia_smi: "${smi}", ib_root: "${join(sysfs, "class", "infiniband")}", prefer_nvml: false }`,
      "supervisor: { health_interval: 250ms, stop_timeout: 5s }",
      `fabrics: [{ name: ${fabric}, hcas: [mlx5_0], rate_gbps: 400 }]`,
    ];
    await writeFile(join(this.dir, `${id}.yaml`), `${lines.join("\n")}\n`);
    this.startAgent(id);
    const joined = async (): Promise<boolean> => {
      const { nodes = [] } = await this.admin<{ nodes?: readonly { readonly id: string }[] }>("ListNodes");
      return nodes.some((node) => node.id === id);
    };
    await until(`${id} to join`, joined, this.seen());
  }

  startAgent(id: string): void {
    this.#agents.set(id, llmgw(["agent", "-c", join(this.dir, `${id}.yaml`), "--data-dir", join(this.dir, id)]));
  }

  async endAgent(id: string, signal: NodeJS.Signals): Promise<void> {
    await this.#agents.get(id)?.end(signal);
  }

  seen(): { timeoutMs: number; seen: () => string } {
    const agents = () => [...this.#agents].map(([id, agent]) => `${id}:\n${agent.output().slice(-3000)}`).join("\n");
    return { timeoutMs: 45_000, seen: () => `server:\n${this.#server.output().slice(-3000)}\n${agents()}` };
  }

  admin<T>(method: string, body?: unknown): Promise<T> {
    return callAdmin({ url: this.#url, token: this.#token }, method, body);
  }

  apply(profile: Readonly<Record<string, unknown>>): Promise<unknown> {
    const manifest = { kind: "Profile", model: { source: `dir:${this.model}` }, ...profile };
    return this.admin("Apply", { manifest: JSON.stringify(manifest), fileName: "test" });
  }

  async replicas(): Promise<readonly GangReplica[]> {
    return (await this.admin<{ replicas?: readonly GangReplica[] }>("ListReplicas")).replicas ?? [];
  }

  /** Waits for the only replica to be as asked. */
  replica(what: string, is: (replica: GangReplica) => boolean): Promise<GangReplica> {
    const { timeoutMs, seen } = this.seen();
    let last = "";
    return until(
      what,
      async () => {
        const all = await this.replicas();
        last = JSON.stringify(all);
        return all.find(is);
      },
      { timeoutMs, seen: () => `${last}\n${seen()}` },
    );
  }

  ctl(...args: readonly string[]): ReturnType<typeof finished> {
    return finished(["ctl", ...args], { env: { LLMGW_SERVER: this.#url, LLMGW_TOKEN: this.#token, NO_COLOR: "1" } });
  }

  async chat(model: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${String(this.#routerPort)}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hello" }] }),
    });
    const body = (await response.json()) as { choices?: readonly { message: { content: string } }[] };
    return body.choices?.[0]?.message.content ?? JSON.stringify(body);
  }

  /** Engines of this site that run, found by their environment; a keeper, which waits for one, leads its session. */
  async engines(): Promise<readonly number[]> {
    const pids = await processesOf(`LLMGW_REPLICA=${this.dir}`);
    const looks = await Promise.all(pids.map(lookAtProcess));
    return looks.flatMap((look) =>
      look.kind === "there" && look.stat.session !== look.stat.pid && !hasEnded(look.stat) ? [look.stat.pid] : [],
    );
  }

  async stop(): Promise<void> {
    for (const agent of this.#agents.values()) await agent.end();
    await this.#server.end();
    await killProcessesOf(this.dir);
    await rm(this.dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
