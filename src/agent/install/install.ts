import { err } from "../../core/result.ts";
import { makeFolder } from "../../platform/folders.ts";
import { commit, type Outcome, staged, type Wanted } from "./commit.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { fetchDebian } from "./debian.ts";
import { allFailed, failed, fileSystemFailed, type InstallFailure } from "./failure.ts";
import { prove } from "./prove.ts";
import { fromListing } from "./published.ts";
import { fromPython } from "./python/from-python.ts";
import { sweepStaging } from "./staging.ts";

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
  if (python !== undefined) return await fromPython(context, { python, wanted }, request);
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
