import type { GpuUuid } from "../core/ids.ts";
import { millis } from "../core/ids.ts";
import type { NvmlAnswer } from "../platform/nvml-answer.ts";
import { readNvml } from "../platform/nvml.ts";
import { runProgram } from "../platform/run.ts";
import { NVML_LIBRARIES } from "./discovery/gpu-source.ts";
import { findTool, toolEnvironment } from "./discovery/gpu-tool.ts";

const QUERY = "--query-compute-apps=gpu_uuid,pid";
/** A driver that is being reset may hold us up for longer; then nothing is known, and that holds nobody up. */
const DEADLINE = millis(10_000);

export interface HolderOptions {
  /** discovery.nvidia_smi; "" looks for it. */
  readonly tool: string;
  /** discovery.prefer_nvml. */
  readonly preferNvml: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Other libraries than the driver's usual ones. */
  readonly libraries?: readonly string[];
}

type Held = (gpus: readonly GpuUuid[], pids: ReadonlySet<number>) => Promise<readonly number[]>;

/** Asks the driver which of the pids hold memory of one of the GPUs. Without an answer: none that is known. */
export function createGpuHolders({ tool, preferNvml, env, libraries = NVML_LIBRARIES }: HolderOptions): Held {
  const byNvml = async (gpus: readonly GpuUuid[]): Promise<readonly number[] | undefined> => {
    const answer = await readNvml({ libraries, env, deadline: DEADLINE });
    return answer.kind === "read" ? pidsOn(answer, gpus) : undefined;
  };
  return async (gpus, pids) => {
    const found = preferNvml ? await byNvml(gpus) : undefined;
    if (found !== undefined) return found.filter((pid) => pids.has(pid));
    const path = await findTool({ tool, env });
    if (path === undefined) return [];
    const limits = { env: toolEnvironment(env), timeout: DEADLINE };
    const outcome = await runProgram([path, QUERY, "--format=csv,noheader"], limits);
    return outcome.kind === "ended" && outcome.code === 0 ? holdersIn(outcome.stdout, gpus, pids) : [];
  };
}

/** Undefined: the library did not say so of one of the GPUs. */
function pidsOn({ cards }: NvmlAnswer & { kind: "read" }, gpus: readonly GpuUuid[]): readonly number[] | undefined {
  const devices = cards.flatMap((card) => [card, ...card.slices]);
  const lists = gpus.map((gpu) => devices.find(({ texts }) => texts["uuid"] === gpu)?.numbers["pids"]);
  return lists.includes(undefined) ? undefined : [...new Set(lists.flatMap((list) => list ?? []))];
}

/** In the tool's table; a slice of a card is listed under the card. */
export function holdersIn(table: string, gpus: readonly GpuUuid[], pids: ReadonlySet<number>): readonly number[] {
  const rows = table.split(/\r?\n/).map((line) => line.split(",").map((cell) => cell.trim()));
  const isMig = gpus.some((gpu) => gpu.startsWith("MIG-"));
  const held = rows.flatMap(([uuid, pid]) =>
    (isMig || gpus.some((gpu) => gpu === uuid)) && pids.has(Number(pid)) ? [Number(pid)] : [],
  );
  return [...new Set(held)];
}
