import { err, ok, type Result } from "../../../core/result.ts";
import type { ModelSource } from "../../../core/source.ts";
import { readTextIfThere } from "../../../platform/files.ts";
import { linkTo } from "../../../platform/found-files.ts";
import { hashFile } from "../../../platform/hash-file.ts";
import { fromFetch, lasting, passing, type WeightFailure } from "../failure.ts";
import type { RemoteFile } from "../offer.ts";
import { cachedFile, findSnapshot, snapshotFiles } from "./hub-cache.ts";
import { type HubSettings, readHubSettings } from "./hub-env.ts";
import {
  type Asked,
  fileUrl,
  hubFailure,
  infoUrl,
  nextPage,
  parseInfo,
  parseTree,
  readFileHead,
  type RepoInfo,
  treeUrl,
} from "./hub-protocol.ts";
import {
  type Described,
  type FetchedWeights,
  type FetchRequest,
  slug,
  type SourceContext,
  type WeightSource,
} from "./source.ts";

type HubSource = ModelSource & { kind: "hf" };

const DEFAULT_REVISION = "main";
const MAX_PAGES = 100;

interface Hub {
  readonly context: SourceContext;
  readonly settings: HubSettings;
  readonly source: HubSource;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/**
 * A repository of the Hub, or of anything that speaks its protocol (HF_ENDPOINT). The revision is resolved to a commit
 * once, and everything comes from that commit. What this user's Hub cache has whole is used from there by a link.
 */
export const hfSource: WeightSource<HubSource> = {
  async describe(source, context, signal) {
    const settings = readHubSettings(context.env);
    if (settings.isOffline) return await fromCache(source, settings, offline(source));
    const token = settings.token ?? (await readToken(settings.tokenPath));
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const hub: Hub = { context, settings, source, headers, signal };
    const info = await readInfo(hub);
    if (info.ok) return await describeCommit(hub, info.value);
    // Without the network, what was fetched before is better than nothing.
    const isUnreachable = info.error.kind === "network" || info.error.kind === "stalled";
    return isUnreachable ? await fromCache(source, settings, info.error) : info;
  },
};

const offline = ({ repo }: HubSource): WeightFailure =>
  lasting("offline", `hf:${repo}: HF_HUB_OFFLINE is set, and neither this node nor its Hub cache has the model`);

async function readToken(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const text = (await readTextIfThere(path).catch(() => undefined))?.trim();
  return text === "" ? undefined : text;
}

const asked = ({ source, settings, headers }: Hub): Asked => ({
  repo: source.repo,
  revision: source.revision,
  endpoint: settings.endpoint,
  hasToken: "authorization" in headers,
});

async function readInfo(hub: Hub): Promise<Result<RepoInfo, WeightFailure>> {
  const { source, settings } = hub;
  const first = await askInfo(hub, infoUrl(settings.endpoint, source.repo, source.revision ?? DEFAULT_REVISION));
  if (first.ok || source.revision !== undefined || first.error.kind !== "not-found") return first;
  // A repository whose default branch has another name.
  const second = await askInfo(hub, infoUrl(settings.endpoint, source.repo, undefined));
  return second.ok ? second : first;
}

async function askInfo(hub: Hub, url: string): Promise<Result<RepoInfo, WeightFailure>> {
  const { context, headers, signal, source } = hub;
  const answer = await context.downloader.text({ url, headers, signal });
  if (!answer.ok) return err(fromFetch(`hf:${source.repo}`, answer.error));
  if (answer.value.status !== 200) return err(hubFailure(answer.value.status, answer.value.headers, asked(hub)));
  const info = parseInfo(answer.value.body);
  return info === undefined
    ? err(passing("http", `hf:${source.repo}: ${url} answered no description of it`))
    : ok(info);
}

async function describeCommit(hub: Hub, info: RepoInfo): Promise<Result<Described, WeightFailure>> {
  const { source } = hub;
  const listing = await readTree(hub, info);
  if (!listing.ok) return listing;
  return ok({
    kind: "remote",
    folder: `hf--${slug(source.repo.replace("/", "--"))}--${info.commit}`,
    files: listing.value,
    fetch: (file, request) => fetchFile(hub, info.commit, { file, request }),
    async start({ name }, bytes) {
      const { settings, context, headers, signal } = hub;
      const url = fileUrl(settings.endpoint, source.repo, { commit: info.commit, file: name });
      const start = await context.downloader.start({ url, bytes, headers, signal });
      return start.ok ? start : err(fromFetch(`hf:${source.repo}`, start.error));
    },
    settle: () => Promise.resolve(),
  });
}

/** The listing page by page; where the server has none, what the description named, without sizes. */
async function readTree(hub: Hub, info: RepoInfo): Promise<Result<readonly RemoteFile[], WeightFailure>> {
  const { context, settings, source, signal } = hub;
  const files: RemoteFile[] = [];
  let url: string | undefined = treeUrl(settings.endpoint, source.repo, info.commit);
  for (let page = 0; url !== undefined && page < MAX_PAGES; page += 1) {
    const answer = await context.downloader.text({ url, headers: headersFor(hub, url), signal });
    if (!answer.ok) return err(fromFetch(`hf:${source.repo}`, answer.error));
    const { status, headers, body } = answer.value;
    const entries = status === 200 ? parseTree(body) : undefined;
    if (entries === undefined) {
      if (page === 0 && info.files.length > 0) return ok(info.files);
      return err(hubFailure(status, headers, asked(hub)));
    }
    files.push(...entries);
    url = nextPage(headers, url);
  }
  return ok(files);
}

/** A page may lie elsewhere; the token stays here. */
const headersFor = ({ settings, headers }: Hub, url: string): Readonly<Record<string, string>> =>
  URL.parse(url)?.origin === URL.parse(settings.endpoint)?.origin ? headers : {};

interface FileJob {
  readonly file: RemoteFile;
  readonly request: FetchRequest;
}

async function fetchFile(hub: Hub, commit: string, job: FileJob): Promise<Result<FetchedWeights, WeightFailure>> {
  const { settings, source, context, headers, signal } = hub;
  const url = fileUrl(settings.endpoint, source.repo, { commit, file: job.file.name });
  const published = await askPublished(hub, url, job.file);
  const sha256 = job.request.sha256 ?? published.sha256;
  const linked = await useCache(hub, commit, { ...job, file: published, sha256 });
  if (linked !== undefined) return ok(linked);
  const outcome = await context.downloader.file({
    url,
    target: job.request.target,
    headers,
    signal: AbortSignal.any([signal, job.request.signal]),
    onProgress: job.request.onProgress,
    pieces: true,
    ...(sha256 === undefined ? {} : { sha256 }),
    ...(published.bytes === 0 ? {} : { bytes: published.bytes }),
  });
  if (!outcome.ok) return err(fromFetch(`hf:${source.repo}`, outcome.error));
  const { bytes, sha256: hash, pieces } = outcome.value;
  return ok({ bytes, sha256: hash, pieces });
}

/** Asks the file itself where the listing had no hash. The redirect to the content network is the answer, not followed. */
async function askPublished(hub: Hub, url: string, file: RemoteFile): Promise<RemoteFile> {
  if (file.sha256 !== undefined) return file;
  const { context, headers, signal } = hub;
  const answer = await context.downloader.text({ url, method: "HEAD", headers, follow: "same-origin", signal });
  if (!answer.ok || answer.value.status >= 400) return file;
  const head = readFileHead(answer.value.headers);
  const isRedirect = answer.value.status >= 300;
  // The length of a redirect's own body is nobody's size.
  const bytes = isRedirect && answer.value.headers["x-linked-size"] === undefined ? 0 : head.bytes;
  return { ...file, sha256: head.sha256, bytes: file.bytes || bytes };
}

async function useCache(
  { settings, source }: Hub,
  commit: string,
  { file, request, sha256 }: FileJob & { readonly sha256: string | undefined },
): Promise<FetchedWeights | undefined> {
  if (settings.cache === undefined || file.bytes === 0) return undefined;
  const cached = await cachedFile(settings.cache, { repo: source.repo, commit, name: file.name, bytes: file.bytes });
  if (cached === undefined) return undefined;
  const found = await hashFile(cached);
  if (sha256 !== undefined && found !== sha256.toLowerCase()) return undefined;
  await linkTo(cached, request.target);
  return { bytes: file.bytes, sha256: found };
}

/** The snapshot that the cache has, used where it is: whether it is enough, the choice of files will show. */
async function fromCache(
  { repo, revision }: HubSource,
  { cache }: HubSettings,
  failure: WeightFailure,
): Promise<Result<Described, WeightFailure>> {
  const snapshot = cache === undefined ? undefined : await findSnapshot(cache, repo, revision ?? DEFAULT_REVISION);
  if (snapshot === undefined) return err(failure);
  const files = await snapshotFiles(snapshot);
  return ok({
    kind: "local",
    folder: snapshot.folder,
    files: files.map(({ name, bytes }) => ({ name, bytes, sha256: undefined })),
  });
}
