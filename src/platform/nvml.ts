import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Millis } from "../core/ids.ts";
import { type NvmlAnswer, parseNvmlAnswer } from "./nvml-answer.ts";
import { runProgram } from "./run.ts";

interface NvmlOptions {
  /** The first that can be loaded is asked: names for the loader, or paths. */
  readonly libraries: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly deadline: Millis;
}

export type NvmlOutcome =
  | NvmlAnswer
  /** The reader was ended, or ended itself, before it could say anything. */
  | { readonly kind: "noAnswer"; readonly reason: string; readonly hung: boolean; readonly survivor?: number };

/** Compiled code has another ending than its source. */
const CHILD = fileURLToPath(new URL(`./nvml-child${extname(import.meta.filename)}`, import.meta.url));

/**
 * Reads all cards in a process of its own that ends afterwards: nothing is held open that would keep a driver from being
 * replaced, and a library that hangs or crashes harms nobody but its reader. It costs about 0.1 s of one core.
 */
export async function readNvml({ libraries, env, deadline }: NvmlOptions): Promise<NvmlOutcome> {
  // Some systems keep the driver's libraries where only the first leads; with the second the reader starts faster.
  const passedOn = ["LD_LIBRARY_PATH", "NODE_COMPILE_CACHE"].flatMap((name) => {
    const value = env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const outcome = await runProgram([process.execPath, CHILD, ...libraries], {
    env: { PATH: env["PATH"] ?? "/usr/bin:/bin", ...Object.fromEntries(passedOn) },
    timeout: deadline,
  });
  if (outcome.kind === "notStarted") return { kind: "noAnswer", reason: outcome.message, hung: false };
  if (outcome.timedOut) {
    const reason = `NVML did not answer within ${String(deadline / 1000)} s, as with a card that hangs`;
    const { survivor } = outcome;
    return { kind: "noAnswer", reason, hung: true, ...(survivor === undefined ? {} : { survivor }) };
  }
  const answer = parseNvmlAnswer(outcome.stdout);
  if (answer !== undefined) return answer;
  const { code, signal, stderr } = outcome;
  const how = signal === null ? `with status ${String(code)}` : `by ${signal}`;
  const said = stderr.trim().slice(-300);
  const reason = `the program that asks NVML ended ${how} without an answer${said === "" ? "" : `: ${said}`}`;
  return { kind: "noAnswer", reason, hung: false };
}
