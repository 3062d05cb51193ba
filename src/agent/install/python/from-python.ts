import { dirname, join } from "node:path";
import { err } from "../../../core/result.ts";
import type { PythonPackage } from "../../../engines/python-package.ts";
import { removeIfThere } from "../../../platform/files.ts";
import { commit, type Outcome, staged, type Wanted } from "../commit.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { dropOtherDownloads } from "../downloads.ts";
import { failed } from "../failure.ts";
import { fetchPython } from "./install-python.ts";

/** Installs an engine that is a package of Python, and has it say its version where it is to stay. */
export async function fromPython(
  context: InstallContext,
  { python, wanted }: { readonly python: PythonPackage; readonly wanted: Wanted },
  request: InstallRequest,
): Promise<Outcome> {
  const driver = await context.gpuDriver();
  const outcome = await staged(context, async (staging) => {
    const { version, source } = wanted;
    const build = await fetchPython(context, { python, version, source, staging, driver }, request);
    if (!build.ok) return build;
    const { binary, flavour } = build.value;
    const proved = { name: context.engine.name, version: build.value.version, devices: [] };
    const name = `${proved.version}-${flavour}`;
    return await commit({ staging, name, wanted, binary, hadDriver: driver !== undefined }, proved);
  });
  // Gigabytes are kept for a try that is going to come by itself, and for no other.
  if (outcome.ok || !outcome.error.retry) await dropOtherDownloads(context.folder, []);
  if (!outcome.ok) return outcome;
  const said = await context.probe(outcome.value.path);
  if (said.ok) return outcome;
  await removeIfThere(join(dirname(outcome.value.path), "..", ".."));
  return err(failed("does-not-run", `${python.name} ${wanted.version}: ${said.error.reason}`));
}
