import type { ExitExplanation, ExitReport } from "../engine.ts";
import { type ExitRule, final, passing } from "../exit-rules.ts";
import { explainPythonExit, said } from "../python/exit.ts";

const RULES: readonly ExitRule[] = [
  said(
    /Free memory on device \S+ \(([\d.]+)\/([\d.]+) GiB\) on startup is less than [^(]*\(([\d.]+), ([\d.]+) GiB\)/,
    ([, free, total, part, wanted]) =>
      passing(
        `of the GPU's ${total ?? ""} GiB only ${free ?? ""} are free, and it wants ${wanted ?? ""} ` +
          `(--gpu-memory-utilization ${part ?? ""}): something else holds the rest`,
      ),
  ),
  said(
    /max seq len \((\d+)\), \(([\d.]+) GiB KV cache is needed, which is larger than the available KV cache memory \(([\d.]+) GiB\)(?:[\s\S]*?estimated maximum model length is (\d+))?/,
    ([, context, needed, free, possible]) =>
      final(
        `the cache for a context of ${context ?? ""} needs ${needed ?? ""} GiB and ${free ?? ""} are left: ` +
          (possible === "" ? "use more GPUs" : `set context to ${possible ?? ""} or less, or use more GPUs`),
      ),
  ),
  said(/No available memory for the cache blocks/, () =>
    final("the weights leave no memory for the cache: use more GPUs, or raise --gpu-memory-utilization"),
  ),
];

/** What the end of a vLLM process means. */
export const explainExit = (exit: ExitReport, lastLines: readonly string[]): ExitExplanation =>
  explainPythonExit(RULES, exit, lastLines);
