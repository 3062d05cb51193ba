import { dirname, join } from "node:path";
import { millis } from "../../../core/ids.ts";
import type { PythonPackage } from "../../../engines/python-package.ts";
import { removeIfThere } from "../../../platform/files.ts";
import { makeFolder } from "../../../platform/folders.ts";
import { type NotStarted, type RunOutcome, runProgram } from "../../../platform/run.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { ABORTED, failed, type InstallFailure } from "../failure.ts";
import { lastLine } from "../libraries.ts";
import { mortal } from "../mortal.ts";
import { trialFolder } from "../trial.ts";
import { pythonEnvironment } from "./program-environment.ts";

/** The first start reads gigabytes of libraries from the disk. */
const TRIAL_TIMEOUT = millis(10 * 60_000);

/** That PyTorch sees a GPU; why it does not, it writes to its error output. */
const SEES_GPU = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 3)";

interface Trying {
  readonly python: PythonPackage;
  readonly binary: string;
  /** Whether PyTorch is in it, and there is a driver that it should find. */
  readonly needsGpu: boolean;
}

/** Has the environment load everything that it needs. Undefined: it does; otherwise why not, in words. */
export async function tryEnvironment(
  { engine }: InstallContext,
  { python, binary, needsGpu }: Trying,
  { signal }: InstallRequest,
): Promise<InstallFailure | undefined> {
  const home = trialFolder(binary);
  const isStopped = (): boolean => signal.aborted;
  const start = async (argv: readonly [string, ...string[]]): Promise<RunOutcome | NotStarted> =>
    await runProgram(await mortal(argv, TRIAL_TIMEOUT), {
      env: pythonEnvironment(binary, home),
      cwd: home,
      timeout: TRIAL_TIMEOUT,
      signal,
    });
  await makeFolder(home);
  try {
    const tried = await start([binary, ...python.selfTest]);
    if (isStopped()) return ABORTED;
    const reason = whyNot(tried, (outcome) => engine.explainExit(outcome, linesOf(outcome)).reason);
    if (reason !== undefined) return failed("does-not-run", `${python.name}: ${reason}`);
    if (!needsGpu) return undefined;
    const seen = await start([join(dirname(binary), "python"), "-c", SEES_GPU]);
    if (isStopped()) return ABORTED;
    const blind = whyNot(seen, (outcome) => lastLine(outcome.stderr) ?? "it does not say why");
    return blind === undefined
      ? undefined
      : failed("does-not-run", `${python.name}: its PyTorch sees no GPU: ${blind}`);
  } finally {
    await removeIfThere(home);
  }
}

const linesOf = ({ stdout, stderr }: RunOutcome): readonly string[] => `${stdout}\n${stderr}`.split("\n");

function whyNot(outcome: RunOutcome | NotStarted, explain: (outcome: RunOutcome) => string): string | undefined {
  if (outcome.kind === "notStarted") return outcome.message;
  if (outcome.code === 0) return undefined;
  return outcome.timedOut ? "it was not done loading in time" : explain(outcome);
}
