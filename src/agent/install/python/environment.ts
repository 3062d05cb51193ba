import { join } from "node:path";
import { millis } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { PythonPackage } from "../../../engines/python-package.ts";
import { writeFileAtomic } from "../../../platform/files.ts";
import { runProgram } from "../../../platform/run.ts";
import { readProjectPage } from "../../python-index/project-page.ts";
import { parseWheelName } from "../../python-index/wheel-name.ts";
import { compareVersions, parseVersion } from "../../python-index/wheel-version.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { failed, type InstallFailure } from "../failure.ts";
import { type LockedWheel, requirementsOf } from "./lock.ts";
import type { Place } from "./place.ts";
import type { Uv } from "./uv-run.ts";

/** Where the environment is in a build's folder. */
export const VENV = "venv";

/** uv may have to fetch a Python first, of some 30 MB. */
const VENV_TIMEOUT = millis(10 * 60_000);
/** Ten gigabytes are unpacked and linked. */
const INSTALL_TIMEOUT = millis(30 * 60_000);
const PYTHON_TIMEOUT = millis(60_000);

interface Making {
  readonly python: PythonPackage;
  readonly version: string;
  readonly place: Place;
  readonly uv: Uv;
  readonly staging: string;
}

/** Makes an empty virtual environment that can be moved; the path of its interpreter. */
export async function makeEnvironment(
  context: InstallContext,
  { python, version, place, uv, staging }: Making,
  request: InstallRequest,
): Promise<Result<string, InstallFailure>> {
  const published = await publishedRange(context, { python, version, place }, request);
  const range = published === undefined ? python.requiresPython : `${python.requiresPython},${published}`;
  const folder = join(staging, VENV);
  const made = await uv.run(["venv", "--relocatable", "--no-project", "--python", range, folder], {
    timeout: VENV_TIMEOUT,
    request,
  });
  if (!made.ok) return err(withoutPython(made.error, range));
  return ok(join(folder, "bin", "python"));
}

function withoutPython(failure: InstallFailure, range: string): InstallFailure {
  if (failure.kind !== "missing-tool" && failure.kind !== "unreachable") return failure;
  const todo = "install python3 of such a version with its headers (python3-dev), or let this node reach GitHub";
  return failed("missing-tool", `Python ${range} is needed: ${failure.message}; ${todo}`);
}

/** What the index says of the version's own needs: a release may have left an old Python behind. */
async function publishedRange(
  { downloader }: InstallContext,
  { python, version, place }: Pick<Making, "python" | "version" | "place">,
  { signal }: InstallRequest,
): Promise<string | undefined> {
  const wanted = parseVersion(version);
  if (place.kind === "folder" || wanted === undefined) return undefined;
  const page = await readProjectPage(place.main, python.name, { downloader, signal });
  if (!page.ok) return undefined;
  const file = page.value.files.find(({ name, requiresPython }) => {
    const parsed = parseVersion(parseWheelName(name)?.version ?? "");
    return requiresPython !== undefined && parsed !== undefined && compareVersions(parsed, wanted) === 0;
  });
  return file?.requiresPython;
}

/** Unpacks the wheels into the environment; nothing but what is named, with the hash that is named, comes from the network or elsewhere. */
export async function fillEnvironment(
  {
    wheels,
    from,
    staging,
    uv,
  }: {
    readonly wheels: readonly LockedWheel[];
    readonly from: string;
    readonly staging: string;
    readonly uv: Uv;
  },
  request: InstallRequest,
): Promise<Result<undefined, InstallFailure>> {
  const list = join(staging, "requirements.txt");
  await writeFileAtomic(list, requirementsOf(wheels));
  const installed = await uv.run(
    [
      ...(["pip", "install", "--python", join(staging, VENV, "bin", "python"), "--requirements", list] as const),
      ...["--offline", "--no-index", "--find-links", from, "--no-deps", "--require-hashes", "--only-binary", ":all:"],
    ],
    { timeout: INSTALL_TIMEOUT, request },
  );
  return installed.ok ? ok(undefined) : installed;
}

const HEADERS =
  "import os, sysconfig; print(os.path.exists(os.path.join(sysconfig.get_paths()['include'], 'Python.h')))";

/** A sentence when what is compiled while a model is loaded will not find Python's headers. */
export async function missingHeaders(interpreter: string): Promise<string | undefined> {
  const outcome = await runProgram([interpreter, "-c", HEADERS], { env: {}, timeout: PYTHON_TIMEOUT });
  if (outcome.kind === "notStarted" || outcome.stdout.trim() !== "False") return undefined;
  return "Python's headers are not on this machine, and kernels that are compiled when a model is loaded need them: install python3-dev";
}
