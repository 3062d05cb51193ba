import { randomBytes } from "node:crypto";
import { dirname, join } from "node:path";
import { gpuUuid, millis, plus } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { Engine, EngineCommand } from "../../engines/engine.ts";
import { type Clock, pause } from "../../platform/clock.ts";
import { removeIfThere, writeFileAtomic } from "../../platform/files.ts";
import { makeFolder } from "../../platform/folders.ts";
import { freeLoopbackPort } from "../../platform/free-port.ts";
import { type NotStarted, type RunOutcome, runProgram } from "../../platform/run.ts";
import { askEngine } from "../probe.ts";
import { mortal } from "./mortal.ts";
import { machineCpuFlags } from "./probe.ts";

export interface Trial {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly binary: string;
  /** Whether it is to compute on the first GPU. */
  readonly onGpu: boolean;
  /** Is made, written to, and removed. */
  readonly workDir: string;
  readonly signal: AbortSignal;
}

const DEADLINE = millis(120_000);
const ANSWER_TIMEOUT = millis(60_000);
const POLL = millis(50);
/** A free port may be taken by another before the engine has it. */
const PORT_TRIES = 3;

/**
 * Starts the build as a replica would be, with a tiny model, and has it do a piece of real work. The error is a sentence:
 * why this build does not serve on this machine.
 */
export async function tryBuild(trial: Trial): Promise<Result<undefined, string>> {
  const model = trial.engine.trialModel?.();
  if (model === undefined) return ok(undefined);
  await makeFolder(trial.workDir);
  try {
    const modelPath = join(trial.workDir, model.name);
    await writeFileAtomic(modelPath, model.bytes);
    for (let attempt = 1; ; attempt++) {
      const port = await freeLoopbackPort();
      const outcome = await tryOn(trial, modelPath, port);
      if (outcome.kind === "works") return ok(undefined);
      if (!outcome.again || attempt === PORT_TRIES) return err(outcome.reason);
    }
  } finally {
    await removeIfThere(trial.workDir);
  }
}

type TrialOutcome =
  { readonly kind: "works" } | { readonly kind: "fails"; readonly reason: string; readonly again: boolean };

async function tryOn(trial: Trial, modelPath: string, port: number): Promise<TrialOutcome> {
  const { engine, workDir, signal } = trial;
  const apiKey = randomBytes(16).toString("hex");
  const serves = ["trial"];
  const command = engine.command({
    binary: trial.binary,
    modelPath,
    serves,
    context: 256,
    host: "127.0.0.1",
    port,
    // Which GPU does not matter, and the first one in the order of the bus is there whenever there is any.
    gpus: trial.onGpu ? [gpuUuid("0")] : [],
    apiKey,
    args: [],
    env: {},
    workDir,
  });
  const stop = new AbortController();
  const run = start(command, trial, AbortSignal.any([signal, stop.signal]));
  try {
    const served = await Promise.race([serve({ trial, port, apiKey, serves, stop: stop.signal }), run]);
    if ("ok" in served) return served.ok ? { kind: "works" } : { kind: "fails", reason: served.error, again: false };
    return await explain(engine, served);
  } finally {
    stop.abort();
    await run;
  }
}

async function start(command: EngineCommand, trial: Trial, signal: AbortSignal): Promise<RunOutcome | NotStarted> {
  const within = plus(DEADLINE, DEADLINE);
  const argv = await mortal(command.argv, within);
  return await runProgram(argv, { env: command.env, cwd: trial.workDir, timeout: within, signal });
}

interface Serving {
  readonly trial: Trial;
  readonly port: number;
  readonly apiKey: string;
  readonly serves: readonly string[];
  readonly stop: AbortSignal;
}

async function serve({ trial, port, apiKey, serves, stop }: Serving): Promise<Result<undefined, string>> {
  const { engine, clock } = trial;
  const deadline = plus(clock.monotonic(), DEADLINE);
  const address = { host: "127.0.0.1", port, apiKey };
  const limits = { timeout: ANSWER_TIMEOUT, signal: stop };
  while (clock.monotonic() < deadline && !stop.aborted) {
    const health = await askEngine(address, engine.healthRequest(), limits);
    if (health.ok && health.value.status === 200) {
      const proof = await askEngine(address, engine.proofRequest({ args: [], serves }), limits);
      if (!proof.ok) return err(`it broke off its first request: ${proof.error}`);
      return engine.checkProof(proof.value.status, proof.value.body);
    }
    await pause(clock, POLL, stop);
  }
  return err("it was not ready in time with a tiny model");
}

async function explain(engine: Engine, outcome: RunOutcome | NotStarted): Promise<TrialOutcome> {
  if (outcome.kind === "notStarted") return { kind: "fails", reason: outcome.message, again: false };
  const lines = `${outcome.stdout}\n${outcome.stderr}`.split("\n");
  const { reason } = engine.explainExit(outcome, lines, await machineCpuFlags());
  return { kind: "fails", reason, again: /^port \d+/.test(reason) };
}

/** The folder that a trial of the binary may use. */
export const trialFolder = (binary: string): string => join(dirname(binary), ".trial");
