import { basename, dirname, join } from "node:path";
import { bytes } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { BuildPlan, CheckedAsset } from "../../engines/llamacpp/release.ts";
import { removeIfThere } from "../../platform/files.ts";
import { listFilesBelow, makeFolder, moveUnlessTaken } from "../../platform/folders.ts";
import { unpackTar } from "../../platform/unpack.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { DOWNLOADS, dropOtherDownloads } from "./downloads.ts";
import { failed, fetchFailed, type InstallFailure, unpackFailed } from "./failure.ts";

/** Fetches, checks and unpacks a build into the folder; the executable's path in it. */
export async function fetchBuild(
  context: InstallContext,
  { plan, staging, request }: { readonly plan: BuildPlan; readonly staging: string; readonly request: InstallRequest },
): Promise<Result<string, InstallFailure>> {
  await dropOtherDownloads(
    context.folder,
    plan.archives.map(({ name }) => name),
  );
  const [main, ...runtimes] = await fetchArchives(context, plan, request);
  if (main === undefined) return err(failed("no-build", `the build ${plan.flavour} of ${plan.tag} has no archive`));
  if (!main.ok) return main;
  const build = await unpack(main.value, join(staging, "build"));
  if (!build.ok) return build;
  const binary = await findProgram(build.value, context.engine.program);
  if (binary === undefined) {
    return err(failed("bad-archive", `${basename(main.value)} holds no ${context.engine.program}`));
  }
  for (const runtime of runtimes) {
    if (!runtime.ok) return runtime;
    const added = await addLibraries(runtime.value, join(staging, "runtime"), dirname(binary));
    if (!added.ok) return added;
  }
  return ok(binary);
}

/** One after the other, with one progress over all; ends with the first that fails. */
async function fetchArchives(
  context: InstallContext,
  plan: BuildPlan,
  request: InstallRequest,
): Promise<readonly Result<string, InstallFailure>[]> {
  const total = plan.archives.reduce((sum, archive) => sum + archive.bytes, 0);
  const fetched: Result<string, InstallFailure>[] = [];
  let before = 0;
  for (const archive of plan.archives) {
    const outcome = await context.downloader.file({
      ...downloadOf(archive, join(context.folder, DOWNLOADS)),
      signal: request.signal,
      onProgress: ({ done, total: ofThis, bytesPerSecond }) => {
        const bytesTotal = bytes(total > 0 ? total : before + ofThis);
        const what = `${context.engine.name} ${plan.tag} (${plan.flavour})`;
        request.onProgress({ what, bytesDone: bytes(before + done), bytesTotal, bytesPerSecond });
      },
    });
    fetched.push(outcome.ok ? ok(outcome.value.path) : err(fetchFailed(outcome.error)));
    if (!outcome.ok) return fetched.toReversed();
    before += outcome.value.bytes;
  }
  return fetched;
}

const downloadOf = ({ name, url, sha256, bytes: size }: CheckedAsset, folder: string) => ({
  url,
  target: join(folder, name),
  sha256,
  ...(size === 0 ? {} : { bytes: size }),
});

/** An archive that cannot be unpacked is removed like one that was: fetched again it could be whole. */
async function unpack(archive: string, folder: string): Promise<Result<string, InstallFailure>> {
  await removeIfThere(folder);
  await makeFolder(folder);
  const outcome = await unpackTar(archive, folder);
  await removeIfThere(archive);
  return outcome.ok ? ok(folder) : err(unpackFailed(outcome.error));
}

/** The executable may be at the top or in a folder such as build/bin; of several the one highest up. */
async function findProgram(folder: string, program: string): Promise<string | undefined> {
  const files = (await listFilesBelow(folder)).filter((path) => basename(path) === program);
  const [highest] = files.toSorted((a, b) => a.split("/").length - b.split("/").length);
  return highest === undefined ? undefined : join(folder, highest);
}

/** A build finds libraries beside its executable, wherever the archive had them. */
async function addLibraries(archive: string, folder: string, beside: string): Promise<Result<string, InstallFailure>> {
  const unpacked = await unpack(archive, folder);
  if (!unpacked.ok) return unpacked;
  for (const path of await listFilesBelow(folder)) {
    if (/\.so(\.|$)/.test(basename(path))) await moveUnlessTaken(join(folder, path), join(beside, basename(path)));
  }
  await removeIfThere(folder);
  return ok(beside);
}
