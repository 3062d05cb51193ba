import { dirname } from "node:path";
import { type Millis, millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Engine } from "../../engines/engine.ts";
import { readCpuFlags } from "../../engines/llamacpp/cpu-variant.ts";
import type { Clock } from "../../platform/clock.ts";
import type { EngineProbes } from "../../engines/python-package.ts";
import { fileStamp, makeFolder } from "../../platform/folders.ts";
import { readKernelFile } from "../../platform/host.ts";
import { type RunOutcome, runProgram } from "../../platform/run.ts";
import { pythonEnvironment } from "./python/program-environment.ts";

interface ProbedBuild {
  readonly version: string;
  /** The GPUs that it sees, by its own names. */
  readonly devices: readonly string[];
}

interface ProbeFailure {
  /** A sentence. */
  readonly reason: string;
  /** What the program said. */
  readonly output: string;
}

export type Probe = (binary: string) => Promise<Result<ProbedBuild, ProbeFailure>>;

/** The first start after a fetch reads a gigabyte of CUDA libraries from disk. */
const PROBE_TIMEOUT = millis(60_000);
/** A failure may be mended without a change to the binary, such as by installing a library. */
const FAILURE_KEPT = millis(60_000);

interface Answer {
  readonly stamp: string;
  readonly at: Millis;
  readonly result: Result<ProbedBuild, ProbeFailure>;
}

/**
 * Asks a binary for its version and devices. The same file is not asked again, since the inventory is re-read all the time,
 * and not twice at once, since an engine of Python takes many seconds to say it.
 */
export function createProbe(engine: Engine, clock: Clock, home: string): Probe {
  const answers = new Map<string, Answer>();
  const running = new Map<string, ReturnType<Probe>>();
  const begin = async (binary: string, stamp: string): ReturnType<Probe> => {
    try {
      const result = await probe({ engine, home }, binary);
      answers.set(binary, { stamp, at: clock.monotonic(), result });
      return result;
    } finally {
      running.delete(binary);
    }
  };
  return async (binary) => {
    const stamp = await fileStamp(binary);
    if (stamp === undefined) return err({ reason: "there is no such file", output: "" });
    const known = answers.get(binary);
    const isFresh = known?.result.ok === true || clock.monotonic() - (known?.at ?? 0) < FAILURE_KEPT;
    if (known?.stamp === stamp && isFresh) return known.result;
    const asked = running.get(binary) ?? begin(binary, stamp);
    running.set(binary, asked);
    return await asked;
  };
}

interface Asking {
  readonly engine: Engine;
  /** Of programs that write caches wherever they are told that home is. */
  readonly home: string;
}

const USUAL: EngineProbes = { version: ["--version"], devices: ["--list-devices"] };

async function probe(asking: Asking, binary: string): Promise<Result<ProbedBuild, ProbeFailure>> {
  const { engine } = asking;
  const probes = engine.probes ?? USUAL;
  const version = await ask(asking, binary, probes.version);
  if (!version.ok) return version;
  const devices = probes.devices === undefined ? ok("") : await ask(asking, binary, probes.devices);
  if (!devices.ok) return devices;
  return ok({
    version: engine.readVersion(version.value) ?? "unknown",
    devices: engine.readDevices(devices.value),
  });
}

async function ask(
  { engine, home }: Asking,
  binary: string,
  args: readonly string[],
): Promise<Result<string, ProbeFailure>> {
  const isPython = engine.python !== undefined;
  if (isPython) await makeFolder(home);
  const outcome = await runProgram([binary, ...args], {
    env: isPython ? pythonEnvironment(binary, home) : probeEnvironment(binary),
    // Backends and modules are looked for in the working folder too: only the binary's own, or an empty one, may be it.
    cwd: isPython ? home : dirname(binary),
    timeout: PROBE_TIMEOUT,
  });
  if (outcome.kind === "notStarted") return err({ reason: outcome.message, output: "" });
  const output = `${outcome.stdout}\n${outcome.stderr}`;
  if (outcome.code === 0) return ok(output);
  return err({ reason: await explain(engine, outcome, args.join(" ")), output });
}

async function explain(engine: Engine, outcome: RunOutcome, asked: string): Promise<string> {
  if (outcome.timedOut) return `it did not answer ${asked} in time`;
  const lines = `${outcome.stdout}\n${outcome.stderr}`.split("\n");
  return engine.explainExit(outcome, lines, await machineCpuFlags()).reason;
}

export async function machineCpuFlags(): Promise<readonly string[]> {
  return readCpuFlags((await readKernelFile("/proc/cpuinfo")) ?? "");
}

/** All GPUs stay visible, unlike in a replica's environment. */
export const probeEnvironment = (binary: string): Readonly<Record<string, string>> => ({
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: dirname(binary),
  LANG: "C.UTF-8",
  LD_LIBRARY_PATH: dirname(binary),
  CUDA_DEVICE_ORDER: "PCI_BUS_ID",
});
