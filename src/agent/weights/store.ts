import { messageOf } from "../../core/errors.ts";
import type { HeldModel } from "../../core/node.ts";
import type { ModelSpec } from "../../core/profile.ts";
import type { Progress } from "../../core/replica-state.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { type ModelSource, parseSource } from "../../core/source.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Downloader } from "../../platform/fetch/download.ts";
import { isErrno } from "../../platform/files.ts";
import type { Logger } from "../../platform/logger.ts";
import { lasting, passing, type WeightFailure } from "./failure.ts";
import type { FetchOrder, Share } from "./fetch-model.ts";
import { createRecordBook, type RecordBook } from "./folder.ts";
import { fetchedModels, findHeld } from "./held.ts";
import { createFactsBook } from "./model-facts.ts";
import { identityOf, namedFile } from "./identity.ts";
import { useLocal } from "./local-model.ts";
import { type Choose, offerOf } from "./offer.ts";
import { createPinCheck } from "./pins.ts";
import { describeByPeers, isOutOfReach } from "./peers/listing.ts";
import { placedFolders } from "./placed.ts";
import { placedModels } from "./placed-models.ts";
import type { ReadyModel } from "./ready.ts";
import { createSemaphore } from "./semaphore.ts";
import type { Described } from "./sources/source.ts";
import { createTurns } from "./turns.ts";

export interface WeightStoreOptions {
  /** Where fetched weights land; looked in too. */
  readonly dir: string;
  /** Looked in, never written to. */
  readonly modelDirs: readonly string[];
  readonly downloader: Downloader;
  /** HF_*, PIP_*, HOME and XDG folders are read from it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Of the folders in `dir`, where others change them too. */
  readonly records?: RecordBook;
  /** The way over other nodes. Left out: everything comes from its source. */
  readonly share?: Share;
}

export interface EnsureRequest {
  /** The engine's: which of the offered files it needs. */
  readonly choose: Choose;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

export interface WeightStore {
  /**
   * Makes a model whole on this node and says where it is. What the disk has, fetched earlier or placed by hand, is used
   * without asking anyone; otherwise the source is asked and what is missing is fetched.
   */
  ensure(model: ModelSpec, request: EnsureRequest): Promise<Result<ReadyModel, WeightFailure>>;
  /** What is whole on the disk at this moment. */
  held(): Promise<readonly HeldModel[]>;
  /** Files fetched at once, of all models together. */
  setConcurrency(files: number): void;
}

const DEFAULT_CONCURRENCY = 4;

export function createWeightStore(options: WeightStoreOptions): WeightStore {
  const { dir, modelDirs, logger, share } = options;
  const roots = [dir, ...modelDirs];
  const records = options.records ?? createRecordBook();
  const pins = createPinCheck();
  const semaphore = createSemaphore(DEFAULT_CONCURRENCY);
  const turns = createTurns();
  const facts = createFactsBook();

  const findPlaced = async ({ spec, source, choose }: FetchOrder): Promise<ReadyModel | undefined> => {
    for (const { folder, files } of await placedFolders(source, roots)) {
      const found = await useLocal(
        spec,
        { folder, files: offerOf(files, fileIn(source, folder, roots)) },
        { choose, pins },
      );
      if (found.ok) return found.value;
      logger.debug({ folder, why: found.error.message }, "a folder of that name does not have the model");
    }
    return undefined;
  };

  const get = async (order: FetchOrder): Promise<Result<ReadyModel, WeightFailure>> => {
    const { spec, source, choose } = order;
    const held = (await findHeld(dir, records, order)) ?? (await findPlaced(order));
    if (held !== undefined) return ok(held);
    logger.info({ source: spec.source }, "asking the source for the model");
    const described = await describe(options, order);
    if (!described.ok) return described;
    if (described.value.kind === "local") {
      const { folder, files } = described.value;
      return await useLocal(spec, { folder, files: offerOf(files, namedFile(source)) }, { choose, pins });
    }
    const { fetchModel } = await import("./fetch-model.ts");
    return await fetchModel({ dir, records, semaphore, share }, described.value, order);
  };

  return {
    async ensure(spec, request) {
      const source = parseSource(spec.source);
      if (!source.ok) return err(lasting("source", source.error));
      const turn = { key: identityOf(source.value), onProgress: request.onProgress, signal: request.signal };
      return await turns.take(turn, (onProgress) =>
        guarded(spec.source, () => get({ ...request, spec, source: source.value, onProgress })),
      );
    },
    async held() {
      const placed = await Promise.all(roots.map(placedModels));
      return await facts.added(unique([...(await fetchedModels(dir, records)), ...placed.flat()]));
    },
    setConcurrency(files) {
      semaphore.setLimit(files);
    },
  };
}

/** What the source says that it has; where it cannot be reached, what a node says that has asked it. */
async function describe(
  { dir, downloader, env, logger, share }: WeightStoreOptions,
  { source, spec, signal }: FetchOrder,
): Promise<Result<Described, WeightFailure>> {
  // Loaded late: an agent that only watches over what it has keeps the memory for it.
  const { describeSource } = await import("./sources/list.ts");
  const described = await describeSource(source, { downloader, env }, signal);
  if (described.ok || share === undefined || !isOutOfReach(described.error)) return described;
  const failure = described.error;
  const asked = { dir, share, failure, signal, identity: identityOf(source), source: spec.source };
  const known = await describeByPeers(asked);
  if (known === undefined) return described;
  logger.info({ source: spec.source, why: failure.message }, "the source cannot be reached; another node knows it");
  return ok(known);
}

/** In a root itself a file lies without the folders it has at its source. */
const fileIn = (source: ModelSource, folder: string, roots: readonly string[]): string | undefined => {
  const named = namedFile(source);
  return roots.includes(folder) ? named?.slice(named.lastIndexOf("/") + 1) : named;
};

/** The disk's no, in words; anything else is a bug and stays one. */
async function guarded(
  source: string,
  work: () => Promise<Result<ReadyModel, WeightFailure>>,
): Promise<Result<ReadyModel, WeightFailure>> {
  try {
    return await work();
  } catch (error) {
    if (isErrno(error, "ENOSPC", "EDQUOT"))
      return err(passing("no-space", `${source}: the disk is full: ${messageOf(error)}`));
    if (isErrno(error, "EACCES", "EPERM", "EROFS", "ENOTDIR", "EISDIR", "EIO", "ESTALE")) {
      return err(passing("disk", `${source}: ${messageOf(error)}`));
    }
    throw error;
  }
}

function unique(models: readonly HeldModel[]): readonly HeldModel[] {
  return [...new Map(models.map((model) => [`${model.source} ${model.path}`, model])).values()];
}
