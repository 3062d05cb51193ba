import { millis } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { readGithubReleases, readSums, type Release } from "../../engines/llamacpp/release.ts";
import type { Clock } from "../../platform/clock.ts";
import type { TextAnswer } from "../../platform/fetch/text.ts";
import { parseJson } from "../../wire/json-value.ts";
import type { InstallContext, InstallRequest } from "./context.ts";
import { failed, fetchFailed, type InstallFailure } from "./failure.ts";

const REPOSITORY = "ggml-org/llama.cpp";
/** Several are published a day, and the newest may still be uploading. */
const LISTED = 20;
/** A listing is a few hundred kilobytes: who cannot send it in this time is not reached, and another source is tried. */
const LISTING_DEADLINE = millis(20_000);

/** Releases from GitHub's API: the one of the tag, or without one the newest ones with binaries. */
export async function listGithub(
  context: InstallContext,
  tag: string | undefined,
  request: InstallRequest,
): Promise<Result<readonly Release[], InstallFailure>> {
  const releases = `${context.githubApi}/repos/${REPOSITORY}/releases`;
  const url = tag === undefined ? `${releases}?per_page=${String(LISTED)}` : `${releases}/tags/${tag}`;
  const answer = await fetchListing(context, { url, headers: githubHeaders(context.env) }, request);
  if (!answer.ok) return answer;
  if (answer.value.status === 404 && tag !== undefined) {
    return err(failed("not-found", `GitHub has no release ${tag} of ${REPOSITORY}`));
  }
  const body = answer.value.status === 200 ? parseJson(answer.value.body) : undefined;
  if (body === undefined) return err(strange(url, answer.value));
  const found = readGithubReleases(tag === undefined ? body : [body]);
  return found.length > 0 ? ok(found) : err(strange(url, answer.value));
}

function githubHeaders(env: InstallContext["env"]): Readonly<Record<string, string>> {
  const token = env["GITHUB_TOKEN"] ?? "";
  return {
    accept: "application/vnd.github+json",
    "x-github-api-version": "2022-11-28",
    // GitHub refuses requests without one.
    "user-agent": "llmgw",
    ...(token === "" ? {} : { authorization: `Bearer ${token}` }),
  };
}

/** Releases from a mirror: its SHA256SUMS at the base address, or in a folder named after the tag. */
export async function listMirror(
  context: InstallContext,
  { base, tag }: { readonly base: string; readonly tag: string | undefined },
  request: InstallRequest,
): Promise<Result<readonly Release[], InstallFailure>> {
  const root = base.endsWith("/") ? base : `${base}/`;
  const folders = [root, ...(tag === undefined ? [] : [`${root}${tag}/`])];
  for (const folder of folders) {
    const answer = await fetchListing(context, { url: `${folder}SHA256SUMS`, headers: {} }, request);
    if (!answer.ok) return answer;
    const releases = answer.value.status === 200 ? readSums(answer.value.body, folder) : [];
    const wanted = releases.filter((release) => tag === undefined || release.tag === tag);
    if (wanted.length > 0) return ok(wanted);
  }
  const what = tag === undefined ? "no build" : `no build of ${tag}`;
  return err(failed("not-found", `the mirror ${base} lists ${what} in a file SHA256SUMS`));
}

async function fetchListing(
  { downloader, clock }: InstallContext,
  { url, headers }: { readonly url: string; readonly headers: Readonly<Record<string, string>> },
  request: InstallRequest,
): Promise<Result<TextAnswer, InstallFailure>> {
  const deadline = deadlineSignal(clock, request.signal);
  const answer = await downloader.text({ url, headers, signal: deadline.signal });
  deadline.cancel();
  if (answer.ok) return answer;
  if (answer.error.kind !== "aborted" || request.signal.aborted) return err(fetchFailed(answer.error));
  return err(failed("unreachable", `${new URL(url).host} did not answer within ${String(LISTING_DEADLINE / 1000)} s`));
}

function deadlineSignal(
  clock: Clock,
  outer: AbortSignal,
): { readonly signal: AbortSignal; readonly cancel: () => void } {
  const late = new AbortController();
  const cancel = clock.after(LISTING_DEADLINE, () => {
    late.abort();
  });
  return { signal: AbortSignal.any([outer, late.signal]), cancel };
}

const strange = (url: string, { status }: TextAnswer): InstallFailure =>
  failed("unreachable", `${url} answered ${String(status)} without a release that could be read`);
