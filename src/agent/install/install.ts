import { join } from "node:path";
import type { EngineBuild } from "../../core/node.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { type BuildPlan, type BuildTarget, planBuilds, type Release, tagOf } from "../../engines/llamacpp/release.ts";
import { removeIfThere } from "../../platform/files.ts";
import { makeFolder } from "../../platform/folders.ts";
import { glibcVersion } from "../../platform/libc.ts";
import { syncTree } from "../../platform/sync-tree.ts";
import type { PythonPackage } from "../../engines/python-package.ts";
import { fetchBuild } from "./archives.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { fetchDebian } from "./debian.ts";
import { dropOtherDownloads } from "./downloads.ts";
import { allFailed, failed, fileSystemFailed, type InstallFailure } from "./failure.ts";
import { provideLibraries } from "./libraries.ts";
import { listGithub, listMirror } from "./listings.ts";
import { fetchPython } from "./python/install-python.ts";
import { commitStaging, openStaging, sweepStaging } from "./staging.ts";
import { trialFolder, tryBuild } from "./trial.ts";

export interface Wanted {
  /** "" when any will do. */
  readonly version: string;
  /** github | debian | the base URL of a mirror */
  readonly source: string;
}

type Outcome = Result<EngineBuild, InstallFailure>;

/**
 * Fetches, checks, unpacks and tries a build, and makes it one of this node's. When GitHub has none for this machine or
 * cannot be reached, Debian's stands in.
 */
export async function install(context: InstallContext, wanted: Wanted, request: InstallRequest): Promise<Outcome> {
  try {
    return await installFrom(context, wanted, request);
  } catch (thrown) {
    return err(fileSystemFailed(thrown, context.folder));
  }
}

async function installFrom(context: InstallContext, wanted: Wanted, request: InstallRequest): Promise<Outcome> {
  await makeFolder(context.folder);
  await sweepStaging(context.folder);
  const { python } = context.engine;
  if (python !== undefined) return await fromPython(context, { python, ...wanted }, request);
  if (wanted.source === "debian") return await fromDebian(context, wanted, request);
  const published = await fromListing(context, wanted, request);
  if (published.ok || wanted.source !== "github" || !debianMayHelp(published.error)) return published;
  context.refuse(`no build from GitHub, so Debian's is taken: ${published.error.message}`);
  const standIn = await fromDebian(context, wanted, request);
  if (standIn.ok || standIn.error.kind === "aborted") return standIn;
  return err(allFailed(context.engine.name, [prefixed("GitHub", published.error), prefixed("Debian", standIn.error)]));
}

/** Not when the operator's wish itself is wrong, when something is fishy, or when this machine's disk is the reason. */
function debianMayHelp({ kind }: InstallFailure): boolean {
  return ["unreachable", "rate-limited", "refused", "no-build", "missing-library", "does-not-run"].includes(kind);
}

const prefixed = (who: string, { kind, message }: InstallFailure): InstallFailure => failed(kind, `${who}: ${message}`);

async function fromListing(context: InstallContext, wanted: Wanted, request: InstallRequest): Promise<Outcome> {
  const tag = tagOf(wanted.version);
  if (!tag.ok) return err(failed("not-found", tag.error));
  const listing =
    wanted.source === "github"
      ? await listGithub(context, tag.value, request)
      : await listMirror(context, { base: wanted.source, tag: tag.value }, request);
  if (!listing.ok) return listing;
  const target = await describeTarget(context);
  const { plans, refusals } = plansOf(listing.value, target);
  refusals.forEach(context.refuse);
  const failures = refusals.map((reason) => failed("no-build", reason));
  for (const plan of plans) {
    const outcome = await fromPlan(context, { plan, wanted, target }, request);
    if (outcome.ok || !anotherMayHelp(outcome.error)) return outcome;
    const message = `${plan.flavour} of ${plan.tag}: ${outcome.error.message}`;
    context.refuse(message);
    failures.push(failed(outcome.error.kind, message));
  }
  return err(failures.length === 1 && failures[0] !== undefined ? failures[0] : allFailed("a build", failures));
}

/** A release that has nothing for this machine may still be uploading: then the one before it. */
function plansOf(releases: readonly Release[], target: BuildTarget): ReturnType<typeof planBuilds> {
  const all = releases.map((release) => planBuilds(release, target));
  return all.find(({ plans }) => plans.length > 0) ?? all[0] ?? { plans: [], refusals: [] };
}

const anotherMayHelp = ({ kind }: InstallFailure): boolean => kind === "does-not-run" || kind === "missing-library";

async function describeTarget({ gpuDriver }: InstallContext): Promise<BuildTarget> {
  return { os: process.platform, arch: process.arch, glibc: glibcVersion(), driver: await gpuDriver() };
}

async function fromPlan(
  context: InstallContext,
  at: { readonly plan: BuildPlan; readonly wanted: Wanted; readonly target: BuildTarget },
  request: InstallRequest,
): Promise<Outcome> {
  const { plan, wanted, target } = at;
  return await staged(context, async (staging) => {
    const binary = await fetchBuild(context, { plan, staging, request });
    if (!binary.ok) return binary;
    const libraries = await provideLibraries(context, binary.value, request);
    if (libraries !== undefined) return err(failed("missing-library", libraries));
    const tried = await prove(context, { binary: binary.value, needsGpu: plan.usesCuda }, request);
    if (!tried.ok) return tried;
    const name = `${tried.value.version}-${plan.flavour}`;
    return await commit(
      { staging, name, wanted, binary: binary.value, hadDriver: target.driver !== undefined },
      tried.value,
    );
  });
}

async function fromDebian(context: InstallContext, wanted: Wanted, request: InstallRequest): Promise<Outcome> {
  const hadDriver = (await context.gpuDriver()) !== undefined;
  return await staged(context, async (staging) => {
    const build = await fetchDebian(context, staging, request);
    if (!build.ok) return build;
    const { binary, variants } = build.value;
    let reason = failed("no-build", "it has no CPU backend for this machine");
    for (const variant of variants) {
      await variant.use();
      const tried = await prove(context, { binary, needsGpu: false }, request);
      if (tried.ok) {
        const name = `${tried.value.version}-debian`;
        return await commit({ staging, name, wanted: { ...wanted, source: "debian" }, binary, hadDriver }, tried.value);
      }
      if (tried.error.kind === "aborted") return tried;
      reason = failed(tried.error.kind, `CPU backend ${variant.name}: ${tried.error.message}`);
      context.refuse(reason.message);
    }
    return err(reason);
  });
}

async function fromPython(
  context: InstallContext,
  wanted: Wanted & { readonly python: PythonPackage },
  request: InstallRequest,
): Promise<Outcome> {
  const driver = await context.gpuDriver();
  return await staged(context, async (staging) => {
    const build = await fetchPython(context, { ...wanted, staging, driver }, request);
    if (!build.ok) {
      // Gigabytes are kept for a try that is going to come, and for no other.
      if (!build.error.retry) await dropOtherDownloads(context.folder, []);
      return build;
    }
    const { binary, flavour } = build.value;
    const probed = await context.probe(binary);
    if (!probed.ok) return err(failed("does-not-run", probed.error.reason));
    const proved = { ...probed.value, name: context.engine.name };
    const name = `${proved.version}-${flavour}`;
    const committed = await commit({ staging, name, wanted, binary, hadDriver: driver !== undefined }, proved);
    await dropOtherDownloads(context.folder, []);
    return committed;
  });
}

/** What is left of a staging folder is removed, however its work ends. */
async function staged(context: InstallContext, work: (staging: string) => Promise<Outcome>): Promise<Outcome> {
  const staging = await openStaging(context.folder);
  try {
    return await work(staging);
  } finally {
    await removeIfThere(staging);
  }
}

interface Proved {
  readonly version: string;
  readonly devices: readonly string[];
  readonly name: string;
}

/** Version, devices, and a token from the tiny model. */
async function prove(
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
  return err(signal.aborted ? failed("aborted", "the installation was stopped") : failed("does-not-run", served.error));
}

interface Commit {
  readonly staging: string;
  readonly name: string;
  readonly wanted: Wanted;
  readonly binary: string;
  readonly hadDriver: boolean;
}

async function commit({ staging, name, wanted, binary, hadDriver }: Commit, proved: Proved): Promise<Outcome> {
  await syncTree(staging);
  const installed = await commitStaging(staging, name, {
    version: proved.version,
    asked: wanted.version,
    source: wanted.source,
    binary: binary.slice(join(staging, "/").length),
    hadDriver,
  });
  return ok({ ...proved, origin: "installed", path: installed.path });
}
