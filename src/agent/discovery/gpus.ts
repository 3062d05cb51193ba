import { gpuUuid, millis } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import { isThere, readKernelFile } from "../../platform/host.ts";
import { runProgram } from "../../platform/run.ts";
import type { HostMemory } from "./meminfo.ts";
import { type GpuReading, OLD_QUERY, QUERY, readGpus } from "./nvidia-smi.ts";

export interface GpuFindings {
  readonly gpus: readonly Gpu[];
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export interface GpuOptions {
  /** discovery.nvidia_smi; "" looks for it. */
  readonly tool: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A healthy tool answers within a second or two; one that waits for a sick card may never. */
const TOOL_DEADLINE = millis(15_000);
/** Where container runtimes and driver packages put it when it is not on PATH. */
const USUAL_PLACES = ["/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/opt/bin/nvidia-smi"];

/** Reads the GPUs again and again, and keeps the last ones known while they cannot be read. */
export function createGpuReader(options: GpuOptions): (host: HostMemory | undefined) => Promise<GpuFindings> {
  let known: readonly Gpu[] = [];
  return async (host) => {
    const tool = await findTool(options);
    if (tool === undefined) return withoutTool(host);
    const reading = await ask(tool, options, host);
    if (reading.kind === "read") {
      known = reading.gpus;
      return { gpus: known, problems: sickCards(known), notes: [`GPUs are read by ${tool}`] };
    }
    const reason = reading.kind === "unreadable" ? reading.reason : `${tool} does not know the columns it is asked for`;
    // What runs on these GPUs goes on; only nothing new is placed on what cannot be looked at.
    const gpus = known.map((gpu) => ({ ...gpu, problem: gpu.problem ?? `cannot be read now: ${reason}` }));
    return { gpus, problems: [reason], notes: [] };
  };
}

async function findTool({ tool, env }: GpuOptions): Promise<string | undefined> {
  if (tool !== "") return tool;
  const onPath = (env["PATH"] ?? "").split(":").filter((folder) => folder.startsWith("/"));
  for (const path of [...onPath.map((folder) => `${folder}/nvidia-smi`), ...USUAL_PLACES]) {
    if (await isThere(path)) return path;
  }
  return undefined;
}

async function ask(tool: string, options: GpuOptions, host: HostMemory | undefined): Promise<GpuReading> {
  const reading = await askFor(QUERY, { tool, options, host });
  return reading.kind === "unknownColumn" ? askFor(OLD_QUERY, { tool, options, host }) : reading;
}

async function askFor(
  columns: readonly string[],
  {
    tool,
    options,
    host,
  }: { readonly tool: string; readonly options: GpuOptions; readonly host: HostMemory | undefined },
): Promise<GpuReading> {
  const argv = [tool, `--query-gpu=${columns.join(",")}`, "--format=csv,noheader,nounits"] as const;
  // LC_ALL: its sentences are read too, and only the English ones are known.
  const env = { PATH: options.env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C" };
  const outcome = await runProgram(argv, { env, timeout: TOOL_DEADLINE });
  if (outcome.kind === "notStarted") return { kind: "unreadable", reason: `discovery.nvidia_smi: ${outcome.message}` };
  if (outcome.timedOut) {
    const seconds = String(TOOL_DEADLINE / 1000);
    return {
      kind: "unreadable",
      reason: `driver: ${tool} did not answer within ${seconds} s, as with a card that hangs`,
    };
  }
  return readGpus(outcome, columns, host);
}

const sickCards = (gpus: readonly Gpu[]): readonly string[] =>
  gpus.flatMap(({ index, uuid, problem }) =>
    problem === undefined ? [] : [`GPU ${String(index)} (${uuid}): ${problem}`],
  );

async function withoutTool(host: HostMemory | undefined): Promise<GpuFindings> {
  const board = await readKernelFile("/proc/device-tree/model");
  const jetson = board === undefined ? undefined : jetsonGpu(board, host);
  if (jetson !== undefined) return { gpus: [jetson], problems: [], notes: ["the GPU is the board's own"] };
  const loaded = await isThere("/proc/driver/nvidia/version");
  const problem = "the NVIDIA driver is loaded, but nvidia-smi is not found: name it in discovery.nvidia_smi";
  return { gpus: [], problems: loaded ? [problem] : [], notes: [] };
}

/** CUDA takes an index where a UUID is asked for, and such a board has just one GPU. */
const BOARD_GPU = gpuUuid("0");

/** NVIDIA's boards without nvidia-smi: one GPU, which shares the host's memory. Undefined for any other board. */
export function jetsonGpu(deviceTreeModel: string, host: HostMemory | undefined): Gpu | undefined {
  // The kernel ends the name with a NUL, which must not travel on.
  const name = deviceTreeModel.replaceAll("\0", "").trim();
  if (!/\bNVIDIA\b.*\b(Jetson|Orin|Xavier|Thor|Nano)\b/i.test(name) || host === undefined) return undefined;
  const memory = { memoryTotal: host.total, memoryFree: host.available };
  const unknown = { problem: undefined, driverVersion: "", computeCapability: "", pciBusId: "", numaNode: undefined };
  return { uuid: BOARD_GPU, index: 0, name, ...memory, unified: true, ...unknown, links: [], parent: undefined };
}
