import type { ExitExplanation, ExitReport } from "../engine.ts";
import { missingLibrary } from "./libraries.ts";

interface Ending extends ExitReport {
  readonly log: string;
  /** Of this machine, as /proc/cpuinfo names them; empty: not known. */
  readonly cpuFlags: readonly string[];
}

type Rule = (ending: Ending) => ExitExplanation | undefined;

const final = (reason: string): ExitExplanation => ({ reason, retry: false });
const passing = (reason: string): ExitExplanation => ({ reason, retry: true });

/** What the usual builds are compiled for, in the order they came. */
const CPU_FLAGS_BUILDS_USE = ["sse4_2", "avx", "f16c", "fma", "bmi2", "avx2"] as const;

/** First match wins: the particular before the general, since one failure often brings the next one's message with it. */
const RULES: readonly Rule[] = [
  // Ended from outside, or as it should: then whatever stands in the log was no reason.
  ({ code }) => (code === 0 ? passing("it ended by itself, without an error") : undefined),
  (ending) => (died(ending, 143, "SIGTERM") ? passing("ended by SIGTERM") : undefined),
  (ending) => (died(ending, 130, "SIGINT") ? passing("ended by SIGINT") : undefined),
  ({ log }) => (log.includes("Received second interrupt") ? passing("ended by a second signal") : undefined),
  ({ log }) => {
    const library = missingLibrary(log);
    return library === undefined ? undefined : final(library.reason);
  },
  ({ log }) => {
    const [, version] = /version `(\w+_[\d.]+)' not found/.exec(log) ?? [];
    return version === undefined ? undefined : final(`this build needs ${version}, which this system is too old for`);
  },
  (ending) => (died(ending, 127) ? final(`command not found: ${lastLine(ending) ?? "no output"}`) : undefined),
  (ending) => (died(ending, 126) ? final(`it cannot be executed: ${lastLine(ending) ?? "no output"}`) : undefined),
  (ending) => (died(ending, 132, "SIGILL") ? final(illegalInstruction(ending.cpuFlags)) : undefined),
  ({ log }) => {
    const [, argument] = /^error: invalid argument: (.+)$/m.exec(log) ?? [];
    return argument === undefined ? undefined : final(`llama-server does not know the argument ${argument}`);
  },
  ({ log }) => {
    const [, device] = /invalid device: (\S+)/.exec(log) ?? [];
    if (device === undefined) return undefined;
    return final(
      `this build does not see the GPU ${device}: it has no CUDA in it, or the driver or the CUDA runtime is missing`,
    );
  },
  ({ log }) => {
    const [, problem] = /^error while handling argument (.+)$/m.exec(log) ?? [];
    return problem === undefined ? undefined : final(`wrong argument ${problem}`);
  },
  ({ log }) => {
    const [, host, port] = /couldn't bind HTTP server socket, hostname: (\S+), port: (\d+)/.exec(log) ?? [];
    if (host === undefined || port === undefined) return undefined;
    return passing(`port ${port} on ${host} is in use, or the address is not this machine's`);
  },
  ({ log }) => {
    const memory = /^.*(out of memory|failed to allocate|unable to allocate|bad_alloc|cannot allocate memory).*$/im;
    const [line] = memory.exec(log) ?? [];
    return line === undefined ? undefined : passing(`out of memory: ${bare(line)}`);
  },
  ({ log }) => {
    const [, problem] = /error loading model: (.+)$/m.exec(log) ?? [];
    return problem === undefined ? undefined : final(`the model cannot be loaded: ${problem}`);
  },
  ({ log }) => {
    if (!log.includes("exiting due to model loading error")) return undefined;
    const [line] = /^.*\bE\b.*$/m.exec(log) ?? [];
    return final(`the model cannot be loaded${line === undefined ? "" : `: ${bare(line)}`}`);
  },
  (ending) =>
    died(ending, 137, "SIGKILL")
      ? passing("killed (SIGKILL): most often the system had no memory left for it; see the kernel's log")
      : undefined,
  (ending) => {
    if (!died(ending, 134, "SIGABRT")) return undefined;
    const [line] = /^.*(GGML_ASSERT|GGML_ABORT|CUDA error|terminate called).*$/m.exec(ending.log) ?? [];
    return passing(`it aborted: ${line === undefined ? (lastLine(ending) ?? "no output") : bare(line)}`);
  },
  (ending) => (died(ending, 139, "SIGSEGV") ? passing("it crashed (SIGSEGV)") : undefined),
  (ending) =>
    died(ending, 135, "SIGBUS") ? passing("it crashed (SIGBUS): a weight file shrank or its disk failed") : undefined,
  ({ signal }) => (signal === null ? undefined : passing(`ended by ${signal}`)),
];

/** What the end of a llama-server means. `cpuFlags` lets an illegal instruction name what the machine lacks. */
export function explainExit(
  exit: ExitReport,
  lastLines: readonly string[],
  cpuFlags: readonly string[] = [],
): ExitExplanation {
  const ending: Ending = { ...exit, log: lastLines.join("\n"), cpuFlags };
  for (const rule of RULES) {
    const explanation = rule(ending);
    if (explanation !== undefined) return explanation;
  }
  const status = exit.code === null ? "it ended and its exit status is not known" : `exit code ${String(exit.code)}`;
  return passing(`${status}: ${lastLine(ending) ?? "no output"}`);
}

/** A shell between us and the engine turns a signal into 128 and its number. */
function died({ code, signal }: ExitReport, status: number, name?: string): boolean {
  return code === status || (name !== undefined && signal === name);
}

function illegalInstruction(cpuFlags: readonly string[]): string {
  const missing = cpuFlags.length === 0 ? [] : CPU_FLAGS_BUILDS_USE.filter((flag) => !cpuFlags.includes(flag));
  const lacks = missing.length === 0 ? "" : ` (it lacks ${missing.join(", ")})`;
  return `illegal instruction: this build is for a newer CPU than this machine's${lacks}; use a portable build`;
}

function lastLine({ log }: Ending): string | undefined {
  const line = log.split("\n").findLast((text) => text.trim() !== "");
  return line === undefined ? undefined : bare(line);
}

/** Without the engine's own time and severity. */
const bare = (line: string): string => line.replace(/^\s*[\d.]+ [DIWE] /, "").trim();
