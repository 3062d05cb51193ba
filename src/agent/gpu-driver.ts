import { millis } from "../core/ids.ts";
import type { NvmlAnswer } from "../platform/nvml-answer.ts";
import { readNvml } from "../platform/nvml.ts";
import { runProgram } from "../platform/run.ts";
import { NVML_LIBRARIES } from "./discovery/gpu-source.ts";
import { findTool, toolEnvironment } from "./discovery/gpu-tool.ts";

/** A driver that is being reset may hold us up for longer; then nothing is known, and that holds nobody up. */
const DEADLINE = millis(10_000);

export interface DriverOptions {
  /** discovery.nvidia_smi; "" looks for it. */
  readonly tool: string;
  /** discovery.prefer_nvml. */
  readonly preferNvml: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Other libraries than the driver's usual ones. */
  readonly libraries?: readonly string[];
}

/** What is asked about the processes on GPUs, and how an answer is read. */
interface Question<T> {
  /** What the tool is to list of each process. */
  readonly columns: string;
  /** Undefined: the library does not say. */
  readonly byLibrary: (answer: NvmlAnswer & { readonly kind: "read" }) => readonly T[] | undefined;
  readonly inTable: (table: string) => readonly T[];
}

/** Asks the driver, through its library first when that is preferred, else through its tool. Without an answer: nothing. */
export async function askDriver<T>(
  { tool, preferNvml, env, libraries = NVML_LIBRARIES }: DriverOptions,
  { columns, byLibrary, inTable }: Question<T>,
): Promise<readonly T[]> {
  const answer = preferNvml ? await readNvml({ libraries, env, deadline: DEADLINE }) : undefined;
  const found = answer?.kind === "read" ? byLibrary(answer) : undefined;
  if (found !== undefined) return found;
  const path = await findTool({ tool, env });
  if (path === undefined) return [];
  const argv = [path, `--query-compute-apps=${columns}`, "--format=csv,noheader,nounits"] as const;
  const outcome = await runProgram(argv, { env: toolEnvironment(env), timeout: DEADLINE });
  return outcome.kind === "ended" && outcome.code === 0 ? inTable(outcome.stdout) : [];
}

/** The cells of the tool's table, line by line. */
export const rowsOf = (table: string): readonly (readonly string[])[] =>
  table.split(/\r?\n/).map((line) => line.split(",").map((cell) => cell.trim()));
