import { isAbsolute, join } from "node:path";
import { millis } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { removeIfThere } from "../../../platform/files.ts";
import { isExecutableFile, listNames, makeExecutable, makeFolder } from "../../../platform/folders.ts";
import { glibcVersion } from "../../../platform/libc.ts";
import { runProgram } from "../../../platform/run.ts";
import { extractZipMember } from "../../../platform/zip.ts";
import { type PageFailure, pipIndexes, readProjectPage } from "../../python-index/project-page.ts";
import { chooseWheel, type IndexFile } from "../../python-index/simple-index.ts";
import { fitsPlatform, type WheelName } from "../../python-index/wheel-name.ts";
import { compareVersions, parseVersion } from "../../python-index/wheel-version.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { DOWNLOADS } from "../downloads.ts";
import { allFailed, failed, fetchFailed, type InstallFailure } from "../failure.ts";
import type { Place } from "./place.ts";

/** The first whose choice of PyTorch's builds was no preview. */
const OLDEST = "0.7.14";
const VERSION_TIMEOUT = millis(30_000);

type Found = Result<string, InstallFailure>;

/** The path of a uv that will do: the configured one, else one on PATH, else one that was fetched, else one fetched now. */
export async function provideUv(context: InstallContext, place: Place, request: InstallRequest): Promise<Found> {
  const { configured } = context.uv;
  if (configured !== undefined) return await checkConfigured(configured);
  const onPath = await findOnPath(context);
  if (onPath !== undefined) return ok(onPath);
  const folder = join(context.folder, "..", "uv");
  const there = (await listNames(folder)).filter((name) => name.startsWith("uv-")).toReversed();
  for (const name of there) if (await isUsable(join(folder, name))) return ok(join(folder, name));
  return await fetchUv(context, { place, folder }, request);
}

async function checkConfigured(path: string): Promise<Found> {
  const version = await versionOf(path);
  if (version === undefined) return err(failed("missing-tool", `the configured uv ${path} does not say its version`));
  if (isNewEnough(version)) return ok(path);
  return err(failed("missing-tool", `the configured uv ${path} is ${version}, and ${OLDEST} or newer is needed`));
}

async function findOnPath(context: InstallContext): Promise<string | undefined> {
  const folders = (context.env["PATH"] ?? "").split(":").filter(isAbsolute);
  for (const path of folders.map((folder) => join(folder, "uv"))) {
    if (!(await isExecutableFile(path))) continue;
    if (await isUsable(path)) return path;
    context.logger.info({ path }, `a uv older than ${OLDEST}, or one that does not run, is passed over`);
  }
  return undefined;
}

async function isUsable(path: string): Promise<boolean> {
  const version = await versionOf(path);
  return version !== undefined && isNewEnough(version);
}

async function versionOf(path: string): Promise<string | undefined> {
  const outcome = await runProgram([path, "--version"], { env: {}, timeout: VERSION_TIMEOUT });
  if (outcome.kind === "notStarted" || outcome.code !== 0) return undefined;
  return /^uv (\d\S*)/.exec(outcome.stdout)?.[1];
}

function isNewEnough(version: string): boolean {
  const [have, need] = [parseVersion(version), parseVersion(OLDEST)];
  return have !== undefined && need !== undefined && compareVersions(have, need) >= 0;
}

interface Fetching {
  readonly place: Place;
  /** Of everything that is uv's. */
  readonly folder: string;
}

interface OfferedUv {
  readonly file: IndexFile;
  readonly version: string;
  readonly headers: Readonly<Record<string, string>>;
}

const fitsHere = (wheel: WheelName): boolean =>
  fitsPlatform(wheel, { os: process.platform, arch: process.arch, glibc: glibcVersion() });

async function fetchUv(context: InstallContext, { place, folder }: Fetching, request: InstallRequest): Promise<Found> {
  if (place.kind === "folder") return await fromFolder(place.path, folder);
  const own = await pipIndexes(context.env);
  const indexes = [...new Set([place.main, ...own])];
  const failures: InstallFailure[] = [];
  for (const index of indexes) {
    const offered = await offeredBy(context, index, request);
    if (!offered.ok) failures.push(offered.error);
    else return await fromIndex(context, { offered: offered.value, folder }, request);
  }
  return err(allFailed("uv, which installs engines of Python,", failures));
}

async function offeredBy(
  { downloader }: InstallContext,
  index: string,
  { signal }: InstallRequest,
): Promise<Result<OfferedUv, InstallFailure>> {
  const page = await readProjectPage(index, "uv", { downloader, signal });
  if (!page.ok) return err(pageFailed("uv", page.error));
  const wheel = chooseWheel(page.value.files, "uv", { fits: fitsHere });
  const host = URL.parse(index)?.host ?? "the index";
  if (wheel === undefined) return err(failed("no-build", `${host} has no build of uv for this machine`));
  return ok({ file: wheel, version: wheel.version, headers: page.value.headersFor(wheel.url) });
}

/** What an index did not give of a project. */
function pageFailed(project: string, failure: PageFailure): InstallFailure {
  if (failure.kind === "fetch") return fetchFailed(failure.failure);
  return failed(KINDS[failure.kind], `${project}: ${failure.message}`);
}

const KINDS = { "no-address": "refused", "not-found": "not-found", auth: "refused", http: "unreachable" } as const;

async function fromIndex(
  context: InstallContext,
  { offered, folder }: { readonly offered: OfferedUv; readonly folder: string },
  { onProgress, signal }: InstallRequest,
): Promise<Found> {
  const { file, version, headers } = offered;
  if (file.sha256 === undefined) {
    return err(failed("checksum", `the index announces no sha256 for ${file.name}, so it cannot be checked`));
  }
  // In the folder of the engine that wants it: another engine that wants it too does not lose it under its hands.
  const archive = join(context.folder, DOWNLOADS, file.name);
  const fetched = await context.downloader.file({
    ...{ url: file.url, target: archive, sha256: file.sha256, headers, signal },
    ...(file.bytes === 0 ? {} : { bytes: file.bytes }),
    onProgress: ({ done, total, bytesPerSecond }) => {
      onProgress({ what: `uv ${version}`, bytesDone: done, bytesTotal: total, bytesPerSecond });
    },
  });
  if (!fetched.ok) return err(fetchFailed(fetched.error));
  const taken = await takeProgram(archive, { folder, version });
  await removeIfThere(archive);
  return taken;
}

async function fromFolder(wheels: string, folder: string): Promise<Found> {
  const names = await listNames(wheels);
  const files = names.map((name) => ({
    name,
    url: name,
    sha256: undefined,
    bytes: 0,
    isYanked: false,
    requiresPython: undefined,
  }));
  const wheel = chooseWheel(files, "uv", { fits: fitsHere });
  if (wheel !== undefined) return await takeProgram(join(wheels, wheel.name), { folder, version: wheel.version });
  const what = names.length === 0 ? "is empty or not there" : "holds no wheel of uv for this machine";
  return err(
    failed("missing-tool", `${wheels} ${what}, and uv is not on PATH: put it there, or name it as engines.uv.bin`),
  );
}

/** Under its last name only when it is whole and runs. */
async function takeProgram(
  archive: string,
  { folder, version }: { readonly folder: string; readonly version: string },
): Promise<Found> {
  await makeFolder(folder);
  const program = join(folder, `uv-${version}`);
  const taken = await extractZipMember(archive, `uv-${version}.data/scripts/uv`, program);
  if (!taken.ok) {
    const kind = taken.error.kind === "no-such-member" ? "bad-archive" : taken.error.kind;
    return err(failed(kind, taken.error.message));
  }
  await makeExecutable(program);
  if (await isUsable(program)) return ok(program);
  await removeIfThere(program);
  return err(failed("does-not-run", `uv ${version} does not run on this machine`));
}
