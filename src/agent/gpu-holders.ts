import type { GpuUuid } from "../core/ids.ts";
import { millis } from "../core/ids.ts";
import { runProgram } from "../platform/run.ts";

const QUERY = "--query-compute-apps=gpu_uuid,pid";
/** A driver that is being reset may hold the tool up for longer; then nothing is known, and that holds nobody up. */
const TOOL_TIMEOUT = millis(10_000);

interface HolderOptions {
  /** nvidia-smi, by name or path. */
  readonly tool: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Asks the driver which of the pids hold memory of one of the GPUs. Without an answer: none that is known. */
export function createGpuHolders({ tool, env }: HolderOptions) {
  const own = { PATH: env["PATH"] ?? "/usr/bin:/bin", LC_ALL: "C" };
  return async (gpus: readonly GpuUuid[], pids: ReadonlySet<number>): Promise<readonly number[]> => {
    const outcome = await runProgram([tool, QUERY, "--format=csv,noheader"], { env: own, timeout: TOOL_TIMEOUT });
    return outcome.kind === "ended" && outcome.code === 0 ? holdersIn(outcome.stdout, gpus, pids) : [];
  };
}

/** In the tool's table; a slice of a card is listed under the card. */
export function holdersIn(table: string, gpus: readonly GpuUuid[], pids: ReadonlySet<number>): readonly number[] {
  const rows = table.split(/\r?\n/).map((line) => line.split(",").map((cell) => cell.trim()));
  const held = rows.flatMap(([uuid, pid]) => {
    const isMig = gpus.some((gpu) => gpu.startsWith("MIG-"));
    return (isMig || gpus.some((gpu) => gpu === uuid)) && pids.has(Number(pid)) ? [Number(pid)] : [];
  });
  return [...new Set(held)];
}
