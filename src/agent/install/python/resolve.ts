import { join } from "node:path";
import { millis } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { PythonPackage } from "../../../engines/python-package.ts";
import { readTextIfThere, writeFileAtomic } from "../../../platform/files.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { allFailed, failed, type InstallFailure } from "../failure.ts";
import { cudaOf, type LockedWheel, readLock } from "./lock.ts";
import { type Place, placeName, uvPlace } from "./place.ts";
import { backendFor, whyNotWith } from "./torch-backend.ts";
import type { Uv } from "./uv-run.ts";

/** A resolution asks an index for a few hundred pages; a mirror on a slow line may take its time. */
const RESOLVE_TIMEOUT = millis(15 * 60_000);

export interface Resolving {
  readonly python: PythonPackage;
  /** "" when any will do. */
  readonly version: string;
  readonly place: Place;
  readonly uv: Uv;
  /** Of the virtual environment. */
  readonly interpreter: string;
  /** For the files of this resolution. */
  readonly folder: string;
  /** Undefined: no driver is loaded. Never "". */
  readonly driver: string | undefined;
}

/** One way to choose the builds of PyTorch and of the engine. */
interface Way {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Asked before the place's own indexes. */
  readonly indexes: readonly string[];
}

const PLAIN: Way = { args: [], env: {}, indexes: [] };

/**
 * Finds out which files make the environment, each with its hash. A package and the PyTorch beside it on the same index are
 * built for one another, so with a driver those come first, and PyTorch's own builds for another CUDA when the driver is too
 * old for them. Without a driver only builds for the CPU are of use. A mirror or a folder is taken as it is.
 */
export async function resolve(
  context: InstallContext,
  resolving: Resolving,
  request: InstallRequest,
): Promise<Result<readonly LockedWheel[], InstallFailure>> {
  const failures: InstallFailure[] = [];
  for (const way of waysFor(resolving)) {
    const locked = await lock(resolving, way, request);
    const outcome = locked.ok ? fitting(locked.value, resolving) : locked;
    if (outcome.ok || !anotherMayHelp(outcome.error)) return outcome;
    failures.push(outcome.error);
  }
  const [only] = failures;
  return err(failures.length === 1 && only !== undefined ? only : allFailed(context.engine.name, failures));
}

const anotherMayHelp = ({ kind }: InstallFailure): boolean => kind === "no-build" || kind === "not-found";

export function waysFor({
  place,
  driver,
  version,
  python,
}: Omit<Resolving, "uv" | "folder" | "interpreter">): readonly Way[] {
  if (place.kind === "folder" || !place.isOwn) return [PLAIN];
  const backend = backendFor(driver);
  if (backend === undefined) return [PLAIN];
  const builds = python.buildsFor?.(version, backend);
  const indexes = builds === undefined ? [] : [builds];
  if (driver === undefined) return [{ args: ["--torch-backend", "cpu"], env: {}, indexes }];
  // uv would ask the driver itself; it is told what was discovered, so that both mean the same one.
  return [PLAIN, { args: ["--torch-backend", "auto"], env: { UV_CUDA_DRIVER_VERSION: driver }, indexes }];
}

function fitting(
  locked: readonly LockedWheel[],
  { driver, python, version, place }: Resolving,
): Result<readonly LockedWheel[], InstallFailure> {
  const cuda = cudaOf(locked);
  const why = cuda === undefined || driver === undefined ? undefined : whyNotWith(cuda, driver);
  if (why === undefined) return ok(locked);
  return err(failed("no-build", `${python.name} ${version} from ${placeName(place)}: ${why}`));
}

async function lock(
  { python, version, place, uv, interpreter, folder }: Resolving,
  way: Way,
  request: InstallRequest,
): Promise<Result<readonly LockedWheel[], InstallFailure>> {
  const [wish, resolved] = [join(folder, "wish.txt"), join(folder, "pylock.toml")];
  await writeFileAtomic(wish, version === "" ? `${python.name}\n` : `${python.name}==${version}\n`);
  const { args, env } = uvPlace(place, way.indexes);
  const outcome = await uv.run(
    [
      ...(["pip", "compile", wish, "--python", interpreter] as const),
      // No package is built here: that would run what it likes, with compilers that the node need not have.
      ...["--only-binary", ":all:", "--format", "pylock.toml", "--output-file", resolved, "--quiet"],
      ...[...args, ...way.args],
    ],
    { timeout: RESOLVE_TIMEOUT, request, env: { ...env, ...way.env } },
  );
  if (!outcome.ok) return err(inContext(outcome.error, { python, version, place }));
  const locked = readLock((await readTextIfThere(resolved)) ?? "");
  return locked.ok ? locked : err(failed("no-build", `${python.name} ${version}: ${locked.error}`));
}

const inContext = (
  { kind, message }: InstallFailure,
  { python, version, place }: Pick<Resolving, "python" | "version" | "place">,
): InstallFailure => failed(kind, `${python.name} ${version} from ${placeName(place)}: ${message}`);
