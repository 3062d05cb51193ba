import type { Millis } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import { isThere } from "../../platform/host.ts";
import { runProgram } from "../../platform/run.ts";
import { type IndexedLink, readTopology } from "./gpu-links.ts";
import type { HostMemory } from "./meminfo.ts";
import { withSlices } from "./mig-list.ts";
import { type GpuReading, QUERY, readGpus, type ToolAnswer } from "./nvidia-smi.ts";
import { REMAPPED_QUERY, withRemappedRows } from "./remapped-rows.ts";
import type { SourceReading } from "./gpu-source.ts";

interface ToolOptions {
  /** discovery.nvidia_smi; "" looks for it. */
  readonly tool: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where container runtimes, driver packages and WSL put it when it is not on PATH. */
const USUAL_PLACES = [
  "/usr/bin/nvidia-smi",
  "/usr/local/nvidia/bin/nvidia-smi",
  "/opt/bin/nvidia-smi",
  "/usr/lib/wsl/lib/nvidia-smi",
];

export async function findTool({ tool, env }: ToolOptions): Promise<string | undefined> {
  if (tool !== "") return tool;
  const onPath = (env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/"));
  for (const path of [...onPath.map((folder) => `${folder}/nvidia-smi`), ...USUAL_PLACES]) {
    if (await isThere(path)) return path;
  }
  return undefined;
}

/** What the tool is run with, of all that this process has. */
export const toolEnvironment = (env: ToolOptions["env"]): Readonly<Record<string, string>> => ({
  PATH: env["PATH"] ?? "/usr/bin:/bin",
  // Its sentences are read too, and only the English ones are known.
  LC_ALL: "C",
});

export class GpuTool {
  readonly #path: string;
  readonly #env: Readonly<Record<string, string>>;
  readonly #deadline: Millis;
  #hung: NoAnswer | undefined;
  /** Links change when cards do, and asking for them takes longer than all the rest. */
  #links: { readonly of: string; readonly links: readonly IndexedLink[] } | undefined;

  constructor(path: string, { env, deadline }: Pick<ToolOptions, "env"> & { readonly deadline: Millis }) {
    this.#path = path;
    this.#deadline = deadline;
    this.#env = toolEnvironment(env);
  }

  async read(host: HostMemory | undefined): Promise<SourceReading> {
    this.#forgetHang();
    const reading = await this.#readAll(host);
    // A tool that hangs at any question does so for a card's sake, and would at the next one.
    return this.#hung ?? reading;
  }

  #forgetHang(): void {
    this.#hung = undefined;
  }

  async #readAll(host: HostMemory | undefined): Promise<SourceReading> {
    const outcome = await this.#query(host);
    if (outcome.kind === "noAnswer") return outcome;
    const { gpus, cut } = outcome;
    const linked = await this.#withLinks(await this.#withMemoryFaults(gpus));
    if (cut.length === 0) return { kind: "read", gpus: linked, unreachable: [], memoryNodes: [], how: this.#path };
    const list = await this.#run(["-L"]);
    const sliced = withSlices(linked, cut, list.kind === "ended" ? list.stdout : "");
    return { kind: "read", gpus: sliced, unreachable: [], memoryNodes: [], how: this.#path };
  }

  async #query(host: HostMemory | undefined): Promise<(GpuReading & { kind: "read" }) | NoAnswer> {
    let columns: readonly string[] = QUERY;
    for (;;) {
      const outcome = await this.#run([`--query-gpu=${columns.join(",")}`, "--format=csv,noheader,nounits"]);
      if (outcome.kind === "noAnswer") return outcome;
      const reading = readGpus(outcome, columns, host);
      if (reading.kind === "read") return reading;
      if (reading.kind === "unreadable") return { kind: "noAnswer", reason: reading.reason, hung: false };
      const known = columns.filter((column) => column !== reading.column);
      if (known.length === columns.length) {
        return { kind: "noAnswer", reason: `driver: ${this.#path} does not know ${reading.column}`, hung: false };
      }
      columns = known;
    }
  }

  /** A question of its own, which tools and cards that know nothing of it refuse. */
  async #withMemoryFaults(gpus: readonly Gpu[]): Promise<readonly Gpu[]> {
    if (gpus.length === 0) return gpus;
    const outcome = await this.#run([`--query-remapped-rows=${REMAPPED_QUERY}`, "--format=csv,noheader"]);
    return outcome.kind === "ended" && outcome.code === 0 ? withRemappedRows(gpus, outcome.stdout) : gpus;
  }

  async #withLinks(gpus: readonly Gpu[]): Promise<readonly Gpu[]> {
    if (gpus.length < 2) return gpus;
    const of = gpus.map(({ uuid, index }) => `${String(index)}=${uuid}`).join();
    if (this.#links?.of !== of) {
      const outcome = await this.#run(["topo", "-m"]);
      // Asked again at the next look when there was no answer.
      if (outcome.kind !== "ended" || outcome.code !== 0) return gpus;
      this.#links = { of, links: readTopology(outcome.stdout) };
    }
    const { links } = this.#links;
    const uuidAt = new Map(gpus.map(({ index, uuid }) => [index, uuid]));
    return gpus.map((gpu) => ({
      ...gpu,
      links: links.flatMap(({ from, to, kind, lanes }) => {
        const uuid = uuidAt.get(to);
        return from !== gpu.index || uuid === undefined ? [] : [{ to: uuid, kind, lanes }];
      }),
    }));
  }

  async #run(args: readonly string[]): Promise<(ToolAnswer & { readonly kind: "ended" }) | NoAnswer> {
    if (this.#hung !== undefined) return this.#hung;
    const outcome = await runProgram([this.#path, ...args], { env: this.#env, timeout: this.#deadline });
    if (outcome.kind === "notStarted") {
      return { kind: "noAnswer", reason: `discovery.nvidia_smi: ${outcome.message}`, hung: false };
    }
    if (!outcome.timedOut) return outcome;
    const seconds = String(this.#deadline / 1000);
    const reason = `driver: ${this.#path} did not answer within ${seconds} s, as with a card that hangs`;
    const { survivor } = outcome;
    this.#hung = { kind: "noAnswer", reason, hung: true, ...(survivor === undefined ? {} : { survivor }) };
    return this.#hung;
  }
}

type NoAnswer = SourceReading & { readonly kind: "noAnswer" };
