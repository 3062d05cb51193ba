import type { ExitExplanation, ExitReport } from "../engine.ts";
import { died, type ExitRule, final, passing } from "../exit-rules.ts";
import { explainPythonExit, said } from "../python/exit.ts";

const RULES: readonly ExitRule[] = [
  // It ends a clean stop by killing itself and all that it started.
  (ending) =>
    died(ending, 137, "SIGKILL") && ending.log.includes("Gracefully exiting")
      ? passing("ended by SIGTERM, after its requests were done")
      : undefined,
  said(/Not enough memory\. Please try to increase --mem-fraction-static/, () =>
    final("the weights leave no memory for the cache: use more GPUs, or raise --mem-fraction-static"),
  ),
  said(/tp_size must be divisible by number of nodes/, () =>
    final("the GPUs of the replica cannot be shared evenly by its nodes: change parallel"),
  ),
];

/** What the end of an SGLang process means. */
export const explainExit = (exit: ExitReport, lastLines: readonly string[]): ExitExplanation =>
  explainPythonExit(RULES, exit, lastLines);
