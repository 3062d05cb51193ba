import type { ExitExplanation, ExitReport } from "../engine.ts";
import { bare, died, explainBy, type ExitRule, final, NOT_RUN, passing, SIGNALLED, STOPPED } from "../exit-rules.ts";
import { missingLibrary } from "./libraries.ts";

/** What the usual builds are compiled for, in the order they came. */
const CPU_FLAGS_BUILDS_USE = ["sse4_2", "avx", "f16c", "fma", "bmi2", "avx2"] as const;

const WRONG_BASE = "; it was made for another model";

/** First match wins: the particular before the general, since one failure often brings the next one's message with it. */
const RULES: readonly ExitRule[] = [
  ...STOPPED,
  ({ log }) => (log.includes("Received second interrupt") ? passing("ended by a second signal") : undefined),
  ({ log }) => {
    const library = missingLibrary(log);
    return library === undefined ? undefined : final(library.reason);
  },
  ...NOT_RUN,
  (ending) => (died(ending, 132, "SIGILL") ? final(illegalInstruction(ending.cpuFlags)) : undefined),
  ({ log }) =>
    log.includes("built without SSL support")
      ? final("this build of llama-server has no TLS in it: take one that has, or set engine_tls to false on its node")
      : undefined,
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
    const [, path] = /failed to load lora adapter '(.+)'$/m.exec(log) ?? [];
    if (path === undefined) return undefined;
    const [, problem = "no reason is given"] = /failed to apply lora adapter: (.+)$/m.exec(log) ?? [];
    return final(
      `the adapter ${path} cannot be loaded: ${problem.replace(" (hint: maybe wrong base model?)", WRONG_BASE)}`,
    );
  },
  ({ log }) => {
    if (!log.includes("exiting due to model loading error")) return undefined;
    const [line] = /^.*\bE\b.*$/m.exec(log) ?? [];
    return final(`the model cannot be loaded${line === undefined ? "" : `: ${bare(line)}`}`);
  },
  (ending) => {
    if (!died(ending, 134, "SIGABRT")) return undefined;
    const [line] = /^.*(GGML_ASSERT|GGML_ABORT|CUDA error|terminate called).*$/m.exec(ending.log) ?? [];
    return line === undefined ? undefined : passing(`it aborted: ${bare(line)}`);
  },
  ...SIGNALLED,
];

/** What the end of a llama-server means. `cpuFlags` lets an illegal instruction name what the machine lacks. */
export function explainExit(
  exit: ExitReport,
  lastLines: readonly string[],
  cpuFlags: readonly string[] = [],
): ExitExplanation {
  return explainBy(RULES, { ...exit, log: lastLines.join("\n"), cpuFlags });
}

function illegalInstruction(cpuFlags: readonly string[]): string {
  const missing = cpuFlags.length === 0 ? [] : CPU_FLAGS_BUILDS_USE.filter((flag) => !cpuFlags.includes(flag));
  const lacks = missing.length === 0 ? "" : ` (it lacks ${missing.join(", ")})`;
  return `illegal instruction: this build is for a newer CPU than this machine's${lacks}; use a portable build`;
}
