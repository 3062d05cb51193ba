import type { ExitExplanation, ExitReport } from "./engine.ts";

/** How an engine ended, and what it said last. */
export interface Ending extends ExitReport {
  readonly log: string;
  /** Of this machine, as /proc/cpuinfo names them; empty: not known. */
  readonly cpuFlags: readonly string[];
}

/** Undefined: the rule does not apply. */
export type ExitRule = (ending: Ending) => ExitExplanation | undefined;

/** The same start cannot go better. */
export const final = (reason: string): ExitExplanation => ({ reason, retry: false });
/** It may go better next time. */
export const passing = (reason: string): ExitExplanation => ({ reason, retry: true });

/** A shell between us and the engine turns a signal into 128 and its number. */
export function died({ code, signal }: ExitReport, status: number, name?: string): boolean {
  return code === status || (name !== undefined && signal === name);
}

/** Ended from outside, or as it should: then whatever stands in the log was no reason. */
export const STOPPED: readonly ExitRule[] = [
  ({ code }) => (code === 0 ? passing("it ended by itself, without an error") : undefined),
  (ending) => (died(ending, 143, "SIGTERM") ? passing("ended by SIGTERM") : undefined),
  (ending) => (died(ending, 130, "SIGINT") ? passing("ended by SIGINT") : undefined),
];

/** The program never came to be. */
export const NOT_RUN: readonly ExitRule[] = [
  ({ log }) => {
    const [, version] = /version `(\w+_[\d.]+)' not found/.exec(log) ?? [];
    return version === undefined ? undefined : final(`this build needs ${version}, which this system is too old for`);
  },
  (ending) => (died(ending, 127) ? final(`command not found: ${lastLine(ending)}`) : undefined),
  (ending) => (died(ending, 126) ? final(`it cannot be executed: ${lastLine(ending)}`) : undefined),
];

/** Signals that nobody sent on purpose. */
export const SIGNALLED: readonly ExitRule[] = [
  (ending) =>
    died(ending, 137, "SIGKILL")
      ? passing("killed (SIGKILL): most often the system had no memory left for it; see the kernel's log")
      : undefined,
  (ending) => (died(ending, 134, "SIGABRT") ? passing(`it aborted: ${lastLine(ending)}`) : undefined),
  (ending) => (died(ending, 139, "SIGSEGV") ? passing("it crashed (SIGSEGV)") : undefined),
  (ending) =>
    died(ending, 135, "SIGBUS") ? passing("it crashed (SIGBUS): a weight file shrank or its disk failed") : undefined,
  ({ signal }) => (signal === null ? undefined : passing(`ended by ${signal}`)),
];

/** The first rule that applies, or the exit code and the last line. */
export function explainBy(rules: readonly ExitRule[], ending: Ending): ExitExplanation {
  for (const rule of rules) {
    const explanation = rule(ending);
    if (explanation !== undefined) return explanation;
  }
  const { code } = ending;
  const status = code === null ? "it ended and its exit status is not known" : `exit code ${String(code)}`;
  return passing(`${status}: ${lastLine(ending)}`);
}

/** "no output" when there is none. */
function lastLine({ log }: Pick<Ending, "log">): string {
  const line = log.split("\n").findLast((text) => text.trim() !== "");
  return line === undefined ? "no output" : bare(line);
}

/** Without the time, the severity and the process that engines begin a line with. */
export const bare = (line: string): string =>
  line
    .replace(/^(\([^()]*pid=\d+[^()]*\)\s*)+/, "")
    .replace(/^\s*[\d.]+ [DIWE] /, "")
    .replace(/^(ERROR|WARNING|INFO|CRITICAL|DEBUG) \d\d-\d\d [\d:.]+ \[[^\]]*\]\s?/, "")
    .replace(/^\[\d{4}-\d\d-\d\d [\d:]+[^\]]*\]\s?/, "")
    .trim();
