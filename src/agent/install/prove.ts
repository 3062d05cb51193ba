import { err, ok, type Result } from "../../core/result.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { ABORTED, failed, type InstallFailure } from "./failure.ts";
import { trialFolder, tryBuild } from "./trial.ts";

export interface Proved {
  readonly version: string;
  readonly devices: readonly string[];
  readonly name: string;
}

/** Version, devices, and a token from the tiny model. */
export async function prove(
  { engine, probe, clock }: InstallContext,
  { binary, needsGpu }: { readonly binary: string; readonly needsGpu: boolean },
  { signal }: InstallRequest,
): Promise<Result<Proved, InstallFailure>> {
  const probed = await probe(binary);
  if (!probed.ok) return err(failed("does-not-run", probed.error.reason));
  const { devices } = probed.value;
  if (needsGpu && devices.length === 0) {
    return err(failed("does-not-run", "it sees no GPU: a library of the driver or of CUDA cannot be loaded"));
  }
  const trial = { engine, clock, binary, workDir: trialFolder(binary), signal };
  let served = await tryBuild({ ...trial, onGpu: needsGpu });
  // A GPU that is full of somebody's model proves nothing against the build.
  if (!served.ok && needsGpu && served.error.startsWith("out of memory"))
    served = await tryBuild({ ...trial, onGpu: false });
  if (served.ok) return ok({ ...probed.value, name: engine.name });
  return err(signal.aborted ? ABORTED : failed("does-not-run", served.error));
}
