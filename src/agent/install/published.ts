import { err } from "../../core/result.ts";
import { type BuildPlan, type BuildTarget, planBuilds, type Release, tagOf } from "../../engines/llamacpp/release.ts";
import { glibcVersion } from "../../platform/libc.ts";
import { fetchBuild } from "./archives.ts";
import { commit, type Outcome, staged, type Wanted } from "./commit.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { allFailed, failed, type InstallFailure } from "./failure.ts";
import { provideLibraries } from "./libraries.ts";
import { listGithub, listMirror } from "./listings.ts";
import { prove } from "./prove.ts";

/** A build that the project published, from GitHub or a mirror: the best for this machine that runs on it. */
export async function fromListing(context: InstallContext, wanted: Wanted, request: InstallRequest): Promise<Outcome> {
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
