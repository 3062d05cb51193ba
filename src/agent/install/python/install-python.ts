import { join } from "node:path";
import { bytes } from "../../../core/ids.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { PythonPackage } from "../../../engines/python-package.ts";
import { removeIfThere } from "../../../platform/files.ts";
import { isExecutableFile } from "../../../platform/folders.ts";
import { normalisedName } from "../../python-index/simple-index.ts";
import type { InstallContext, InstallRequest } from "../context.ts";
import { failed, type InstallFailure } from "../failure.ts";
import { fillEnvironment, makeEnvironment, missingHeaders, VENV } from "./environment.ts";
import { checkSums, fetchWheels } from "./fetch-wheels.ts";
import { cudaOf, type LockedWheel } from "./lock.ts";
import { headersOf, type Place, placeOf } from "./place.ts";
import { resolve } from "./resolve.ts";
import { backendFor, backendName } from "./torch-backend.ts";
import { tryEnvironment } from "./try-environment.ts";
import { provideUv } from "./uv-program.ts";
import { type Uv, uvIn } from "./uv-run.ts";

export interface PythonWish {
  readonly python: PythonPackage;
  readonly version: string;
  readonly source: string;
  readonly staging: string;
  /** Undefined: no driver is loaded. "": one whose version nobody knows. */
  readonly driver: string | undefined;
}

export interface PythonBuild {
  readonly binary: string;
  readonly version: string;
  /** For what it is built, such as cu130 or cpu. */
  readonly flavour: string;
}

/** Makes a virtual environment with the package in the staging folder, and tries it. */
export async function fetchPython(
  context: InstallContext,
  wish: PythonWish,
  request: InstallRequest,
): Promise<Result<PythonBuild, InstallFailure>> {
  const { python, staging, driver } = wish;
  const reason = whyNotHere(context, driver);
  if (reason !== undefined) return err(failed("no-build", `${python.name} ${reason}`));
  const place = await placeOf(wish.source, backendFor(driver) ?? "cpu", context.env);
  const program = await provideUv(context, place, request);
  if (!program.ok) return program;
  const uv = uvIn(context, { program: program.value, folder: staging });
  const resolved = await prepare(context, { ...wish, place, uv }, request);
  if (!resolved.ok) return resolved;
  const unfit = await fill(context, { ...wish, place, uv, wheels: resolved.value }, request);
  if (unfit !== undefined) return err(unfit);
  await removeIfThere(join(staging, "cache"));
  return await tried(context, { ...wish, wheels: resolved.value }, request);
}

function whyNotHere({ engine }: InstallContext, driver: string | undefined): string | undefined {
  if (driver === "")
    return "has a build for each CUDA, and the NVIDIA driver does not say its version: none is guessed";
  if (driver !== undefined || engine.needsGpu !== true) return undefined;
  return "runs on NVIDIA GPUs alone, and no driver of theirs is loaded on this node";
}

interface Step extends PythonWish {
  readonly place: Place;
  readonly uv: Uv;
}

/** For what takes a while and cannot be counted in bytes. */
function say({ python, version }: PythonWish, doing: string, { onProgress }: InstallRequest): void {
  const none = bytes(0);
  onProgress({ what: `${python.name} ${version}: ${doing}`, bytesDone: none, bytesTotal: none, bytesPerSecond: 0 });
}

async function prepare(
  context: InstallContext,
  step: Step,
  request: InstallRequest,
): Promise<Result<readonly LockedWheel[], InstallFailure>> {
  say(step, "being resolved", request);
  const interpreter = await makeEnvironment(context, step, request);
  if (!interpreter.ok) return interpreter;
  const headless = step.driver === undefined ? undefined : await missingHeaders(interpreter.value);
  if (headless !== undefined) context.refuse(`${step.python.name}: ${headless}`);
  const { driver } = step;
  return await resolve(context, { ...step, interpreter: interpreter.value, folder: step.staging, driver }, request);
}

async function fill(
  context: InstallContext,
  step: Step & { readonly wheels: readonly LockedWheel[] },
  request: InstallRequest,
): Promise<InstallFailure | undefined> {
  const { wheels, place, uv, staging } = step;
  const from = await wheelsOf(context, step, request);
  if (!from.ok) return from.error;
  if (place.kind === "folder") {
    const wrong = await checkSums(place.path, wheels);
    if (wrong !== undefined) return wrong;
  }
  say(step, "being unpacked", request);
  const filled = await fillEnvironment({ wheels, from: from.value, staging, uv }, request);
  return filled.ok
    ? undefined
    : failed(filled.error.kind, `${step.python.name} ${step.version}: ${filled.error.message}`);
}

async function wheelsOf(
  context: InstallContext,
  { place, wheels, python, version }: Step & { readonly wheels: readonly LockedWheel[] },
  request: InstallRequest,
): Promise<Result<string, InstallFailure>> {
  if (place.kind === "folder") return ok(place.path);
  const what = `${python.name} ${version}`;
  return await fetchWheels(context, { wheels, what, headersFor: headersOf(place) }, request);
}

async function tried(
  context: InstallContext,
  wish: PythonWish & { readonly wheels: readonly LockedWheel[] },
  request: InstallRequest,
): Promise<Result<PythonBuild, InstallFailure>> {
  const { python, version, wheels, staging, driver } = wish;
  const binary = join(staging, VENV, "bin", python.program);
  if (!(await isExecutableFile(binary))) {
    return err(failed("bad-archive", `${python.name} ${version} brings no program ${python.program}`));
  }
  say(wish, "being tried", request);
  const needsGpu = driver !== undefined && wheels.some(({ project }) => project === "torch");
  const failure = await tryEnvironment(context, { python, binary, needsGpu }, request);
  if (failure !== undefined) return err(failure);
  const itself = wheels.find(({ project }) => normalisedName(project) === normalisedName(python.name));
  return ok({ binary, version: itself?.version ?? version, flavour: backendName(cudaOf(wheels)) });
}
