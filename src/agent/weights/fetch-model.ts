import { dirname, join } from "node:path";
import { formatBytes } from "../../core/format.ts";
import type { ModelSpec } from "../../core/profile.ts";
import type { Progress } from "../../core/replica-state.ts";
import { err, ok, type Result } from "../../core/result.ts";
import type { ModelSource } from "../../core/source.ts";
import type { FileChoice } from "../../engines/engine.ts";
import { partBytes } from "../../platform/fetch/part-names.ts";
import { readDisk } from "../../platform/host.ts";
import { lasting, passing, type WeightFailure } from "./failure.ts";
import { createFetchProgress } from "./fetch-progress.ts";
import type { RecordBook } from "./folder.ts";
import { identityOf, namedFile } from "./identity.ts";
import { type Choose, chooseFrom, offerOf, type RemoteFile, shownNames } from "./offer.ts";
import { pinConflict, pinOf } from "./pins.ts";
import { lookAtModel, type ReadyModel } from "./ready.ts";
import { withHeld, withModel } from "./record.ts";
import type { Semaphore } from "./semaphore.ts";
import type { SharedJob } from "./peers/fetch-shared.ts";
import { writePieceFile } from "./peers/piece-file.ts";
import { keyOf } from "./peers/shelf.ts";
import type { Described, FetchedWeights, FetchRequest } from "./sources/source.ts";

export interface FetchPlace {
  /** The weights folder. */
  readonly dir: string;
  readonly records: RecordBook;
  /** Files at once, of all models together. */
  readonly semaphore: Semaphore;
  /** The way over other nodes. Undefined: everything comes from its source. */
  readonly share: Share | undefined;
}

export type Share = (job: SharedJob) => Promise<Result<FetchedWeights, WeightFailure>>;

export interface FetchOrder {
  readonly spec: ModelSpec;
  readonly source: ModelSource;
  readonly choose: Choose;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

type Remote = Described & { readonly kind: "remote" };

interface Plan {
  readonly folder: string;
  readonly choice: FileChoice;
  readonly files: readonly RemoteFile[];
}

/** Makes a model whole in its folder: what is there already is kept, the rest is fetched, and the record is written last. */
export async function fetchModel(
  place: FetchPlace,
  remote: Remote,
  order: FetchOrder,
): Promise<Result<ReadyModel, WeightFailure>> {
  const plan = planOf(place, remote, order);
  if (!plan.ok) return plan;
  const { folder, choice, files } = plan.value;
  await place.records.change(folder, (record) => ({
    ...record,
    identities: [...new Set([...record.identities, identityOf(order.source)])],
    offered: [
      ...record.offered.filter(({ name }) => !remote.files.some((file) => file.name === name)),
      ...remote.files,
    ],
  }));
  const missing = await missingFiles(place, folder, files);
  const failure =
    (await noRoom(order, folder, missing)) ?? (await fetchAll(place, remote, { ...order, folder, missing, choice }));
  if (failure !== undefined) return err(failure);
  const ready = await complete(place, plan.value, order.spec);
  if (ready.ok) await remote.settle(folder);
  return ready;
}

function planOf(place: FetchPlace, remote: Remote, { spec, source, choose }: FetchOrder): Result<Plan, WeightFailure> {
  const offered = offerOf(remote.files, namedFile(source));
  if (offered.length === 0) {
    const what = namedFile(source) ?? "files";
    return err(
      lasting("not-found", `${spec.source}: there is no ${what}; the source offers ${shownNames(remote.files)}`),
    );
  }
  const choice = chooseFrom(offered, spec.files, choose);
  if (!choice.ok) return err(lasting("choice", `${spec.source}: ${choice.error}`));
  const files = offered.filter(({ name }) => choice.value.files.includes(name));
  const conflict = pinConflict(spec.source, spec.sha256, files);
  if (conflict !== undefined) return err(conflict);
  return ok({ folder: join(place.dir, remote.folder), choice: choice.value, files });
}

/** What was not fetched yet, or is no longer there as it was fetched. */
async function missingFiles(
  place: FetchPlace,
  folder: string,
  files: readonly RemoteFile[],
): Promise<readonly RemoteFile[]> {
  const held = (await place.records.read(folder))?.held ?? [];
  const looked = await Promise.all(
    files.map(async (file) => {
      const before = held.find(({ name }) => name === file.name);
      const isThere = before !== undefined && (await lookAtModel(folder, file.name, [before])) !== undefined;
      return isThere ? [] : [file];
    }),
  );
  return looked.flat();
}

/** Before the first byte, for all files together: ten that fit one by one may not fit. */
async function noRoom(
  { spec }: FetchOrder,
  folder: string,
  missing: readonly RemoteFile[],
): Promise<WeightFailure | undefined> {
  const free = (await readDisk(folder))?.free;
  if (free === undefined) return undefined;
  const folders = [...new Set(missing.map(({ name }) => dirname(join(folder, name))))];
  const begun = (await Promise.all(folders.map(partBytes))).reduce((sum, size) => sum + size, 0);
  const needed = missing.reduce((sum, file) => sum + file.bytes, 0) - begun;
  if (needed <= free) return undefined;
  const message = `${spec.source}: ${formatBytes(needed)} (${String(needed)} bytes) are needed in ${folder}, ${formatBytes(free)} (${String(free)} bytes) are free`;
  return passing("no-space", message);
}

async function fetchAll(
  place: FetchPlace,
  remote: Remote,
  order: FetchOrder & Pick<Plan, "folder" | "choice"> & { readonly missing: readonly RemoteFile[] },
): Promise<WeightFailure | undefined> {
  const { spec, folder, missing, choice } = order;
  const halt = new AbortController();
  const signal = AbortSignal.any([order.signal, halt.signal]);
  const what = `fetching ${choice.main === "" ? spec.source : choice.main.slice(choice.main.lastIndexOf("/") + 1)}`;
  const progress = createFetchProgress(what, missing, order.onProgress);
  let failure: WeightFailure | undefined;
  await Promise.all(
    missing.map(async (file) => {
      const request = {
        target: join(folder, file.name),
        sha256: pinOf(spec.sha256, file.name) ?? file.sha256,
        signal,
        onProgress: (one: Parameters<typeof progress.report>[1]) => {
          progress.report(file.name, one);
        },
      };
      const outcome = await place.semaphore.run(() => fetchOne(place, remote, { spec, file, request, folder }), signal);
      if (outcome?.ok === true) return;
      failure ??= outcome?.error ?? lasting("aborted", `${spec.source}: fetching was stopped`);
      // One file that cannot be had is reason enough not to fetch the rest of the model.
      halt.abort();
    }),
  );
  return failure;
}

interface FileOrder {
  readonly spec: ModelSpec;
  readonly file: RemoteFile;
  readonly request: FetchRequest;
  readonly folder: string;
}

async function fetchOne(
  place: FetchPlace,
  remote: Remote,
  { spec, file, request, folder }: FileOrder,
): Promise<Result<FetchedWeights, WeightFailure>> {
  const settle = async ({ bytes, sha256, pieces }: FetchedWeights): Promise<void> => {
    if (pieces !== undefined) await writePieceFile(request.target, { bytes, sha256, pieces });
    await place.records.change(folder, (record) => withHeld(record, { name: file.name, bytes, sha256 }));
  };
  const fromOrigin = (asked: FetchRequest): ReturnType<Remote["fetch"]> => remote.fetch(file, asked);
  if (place.share !== undefined && remote.isOwn !== true) {
    const key = keyOf(remote.folder, file.name);
    return await place.share({ key, source: spec.source, bytes: file.bytes, request, fromOrigin, settle });
  }
  const outcome = await fromOrigin(request);
  if (outcome.ok) await settle(outcome.value);
  return outcome;
}

async function complete(
  place: FetchPlace,
  { folder, choice }: Plan,
  spec: ModelSpec,
): Promise<Result<ReadyModel, WeightFailure>> {
  const held = (await place.records.read(folder))?.held ?? [];
  const files = choice.files.map((name) => held.find((file) => file.name === name) ?? { name, bytes: 0 });
  const ready = await lookAtModel(folder, choice.main, files);
  if (ready === undefined)
    return err(passing("lost", `${spec.source}: a file in ${folder} vanished after it was fetched`));
  await place.records.change(folder, (record) =>
    withModel(record, { source: spec.source, main: choice.main, files: choice.files }),
  );
  return ok(ready);
}
