import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { type Bytes, bytes } from "../../core/ids.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { hashFile } from "../hash-file.ts";
import { readRange } from "../read-range.ts";
import { claimPart } from "./claim.ts";
import type { FetchContext } from "./context.ts";
import { DiskError, type DiskSpace } from "./disk.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";
import { createFrontierHash, type FrontierHash, type HashedFile } from "./frontier-hash.ts";
import { createMeter, SAMPLE_EVERY } from "./meter.ts";
import type { OpenPart } from "./open-parts.ts";
import { writtenBytes } from "./prepare.ts";
import { runTransfer } from "./run-transfer.ts";
import type { Transfer } from "./transfer.ts";

export interface FileProgress {
  readonly done: Bytes;
  /** 0: the source did not say. */
  readonly total: Bytes;
  readonly bytesPerSecond: number;
  /** Bytes that came over the network in this call; what an earlier one left is not among them. */
  readonly received: number;
}

export interface FileRequest {
  readonly url: string;
  readonly target: string;
  /** Hex. A file with other bytes is never left under the target's name. */
  readonly sha256?: string;
  readonly bytes?: number;
  /** Whether the hashes of its pieces are wanted too, for others that get the file from here. */
  readonly pieces?: boolean;
  /** Sent to the address's own origin and to no other, whatever redirects say. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: FileProgress) => void;
}

export interface FetchedFile {
  readonly path: string;
  readonly bytes: Bytes;
  /** Hex, of what is on disk. */
  readonly sha256: string;
  /** Hex, of each piece, where they were asked for; none of a file that was there before. */
  readonly pieces?: readonly string[];
}

export interface FileJob {
  readonly request: FileRequest;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: FileProgress) => void;
}

/** How often a file is fetched afresh when its bytes are wrong. */
const CONTENT_TRIES = 3;

/** One file, fetched, checked, synced and renamed into its place; or no file of that name at all. */
export async function fetchFile(
  context: FetchContext,
  space: DiskSpace,
  job: FileJob,
): Promise<Result<FetchedFile, FetchFailure>> {
  const url = URL.parse(job.request.url);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    return err({ kind: "refused", message: `${shownUrl(job.request.url)} is no http or https address` });
  }
  try {
    const present = await alreadyThere(job.request);
    if (present !== undefined) return ok(present);
    const full = await space.stillFull(job.request.target);
    if (full !== undefined) return err(full);
    return await fetchChecked(context, space, { ...job, url });
  } catch (error) {
    if (error instanceof DiskError) return err(error.failure);
    throw error;
  }
}

async function alreadyThere({ target, sha256, bytes: size }: FileRequest): Promise<FetchedFile | undefined> {
  if (sha256 === undefined) return undefined;
  const found = await stat(target).catch(() => undefined);
  if (found === undefined || !found.isFile() || (size !== undefined && found.size !== size)) return undefined;
  if ((await hashFile(target)) !== sha256.toLowerCase()) return undefined;
  return { path: target, bytes: bytes(found.size), sha256: sha256.toLowerCase() };
}

interface UrlJob extends FileJob {
  readonly url: URL;
}

async function fetchChecked(
  context: FetchContext,
  space: DiskSpace,
  job: UrlJob,
): Promise<Result<FetchedFile, FetchFailure>> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await fetchOnce(context, space, job);
    if (outcome.ok) return outcome;
    if (outcome.error.kind !== "wrong-bytes") return err(outcome.error);
    if (attempt >= CONTENT_TRIES) {
      return err({ kind: "checksum", message: `${outcome.error.message} (${String(attempt)} times in a row)` });
    }
  }
}

/** Wrong bytes are worth fetching again; everything else has been tried as often as it is worth. */
type OnceFailure = FetchFailure | { readonly kind: "wrong-bytes"; readonly message: string };

async function fetchOnce(
  context: FetchContext,
  space: DiskSpace,
  job: UrlJob,
): Promise<Result<FetchedFile, OnceFailure>> {
  const { request, signal, url } = job;
  const sha256 = request.sha256?.toLowerCase();
  const claimed = await claimPart({ target: request.target, url, sha256 }, context.clock, signal);
  const hasher = createFrontierHash(() => (request.pieces === true ? transfer.size : undefined));
  const transfer: Transfer = {
    context,
    space,
    url,
    target: request.target,
    sha256,
    announced: request.bytes,
    headers: request.headers ?? {},
    signal,
    onBytes: () => {
      report.bytes();
      if (transfer.part !== undefined) hasher.follow(transfer.part);
    },
    part: claimed?.part,
    size: claimed?.size,
    validator: claimed?.validator,
    resolved: undefined,
    isPlain: false,
    releaseSpace: () => undefined,
    received: 0,
    hitFullDisk: false,
  };
  const close = context.open.register(request.target, () => openPartOf(transfer, hasher));
  const report = createReport(context, job, transfer);
  try {
    const failure = await runTransfer(transfer);
    if (failure !== undefined) return err(await giveUp(transfer, failure));
    report.last();
    return await complete(transfer, hasher);
  } finally {
    report.owed();
    close();
    transfer.releaseSpace();
    await transfer.part?.release();
  }
}

/**
 * Keeps or removes what was fetched. Kept for the next try: what a broken connection, a limit or an abort left. Removed:
 * what a full disk left, so that the disk is not kept full, and what can never become the file.
 */
async function giveUp(transfer: Transfer, failure: FetchFailure): Promise<FetchFailure> {
  const { part } = transfer;
  const isUseless = failure.kind === "checksum" || failure.kind === "not-found" || failure.kind === "refused";
  if (part !== undefined && (isUseless || transfer.hitFullDisk || writtenBytes(part) === 0)) {
    transfer.part = undefined;
    await part.discard();
  }
  if (transfer.hitFullDisk) await transfer.space.noteFull(transfer.target);
  return failure;
}

async function complete(transfer: Transfer, hasher: FrontierHash): Promise<Result<FetchedFile, OnceFailure>> {
  const { part, target, size } = transfer;
  if (part === undefined) throw new Error("a transfer cannot be complete without a part file");
  const hash = await hasher.finish(part);
  const isWhole = hash.bytes === size && (transfer.announced === undefined || transfer.announced === size);
  const isRight = transfer.sha256 === undefined || transfer.sha256 === hash.sha256;
  transfer.part = undefined;
  if (isWhole && isRight) {
    const pieces = hasher.pieces(part);
    await part.finish(target);
    return ok({
      ...{ path: target, bytes: bytes(hash.bytes), sha256: hash.sha256 },
      ...(pieces.length === 0 ? {} : { pieces }),
    });
  }
  // Nothing of it can be trusted, so nothing is resumed from it.
  await part.discard();
  return err({ kind: "wrong-bytes", message: wrongBytes(transfer, hash) });
}

/** Pieces are noted from the first on, since their hashes come from the same reading as that of the whole. */
function openPartOf({ part, size }: Transfer, hasher: FrontierHash): OpenPart | undefined {
  if (part === undefined || size === undefined) return undefined;
  return {
    size,
    generation: basename(part.path),
    notes: () => hasher.pieces(part).map((sha256, index) => ({ index, sha256 })),
    read: (range) => readRange(part, range),
  };
}

function wrongBytes({ url, sha256, announced, size }: Transfer, hash: HashedFile): string {
  const shown = shownUrl(url);
  if (sha256 !== undefined && sha256 !== hash.sha256) {
    return `${shown} does not have the right bytes: its sha256 is ${hash.sha256}, ${sha256} is right`;
  }
  return `${shown} came as ${String(hash.bytes)} bytes, ${String(announced ?? size ?? 0)} are right`;
}

interface Report {
  /** There are more of them. */
  bytes(): void;
  /** The file is whole. */
  last(): void;
  /** Tells now what was put off: whoever has the outcome hears no more of the file. */
  owed(): void;
}

function createReport(context: FetchContext, job: FileJob, transfer: Transfer): Report {
  const meter = createMeter(context.clock, writtenBytes(transfer.part));
  let cancel: (() => void) | undefined;
  let done = 0;
  const tell = (): void => {
    cancel?.();
    cancel = undefined;
    job.onProgress({
      done: bytes(done),
      total: bytes(transfer.size ?? transfer.announced ?? 0),
      bytesPerSecond: meter.rate(),
      received: transfer.received,
    });
  };
  const note = (): boolean => {
    done = writtenBytes(transfer.part);
    return meter.note(done);
  };
  return {
    bytes() {
      if (note()) tell();
      // A source that sends much at once and then nothing would else be shown as if it had sent nothing.
      else cancel ??= context.clock.after(SAMPLE_EVERY, tell);
    },
    last() {
      note();
      tell();
    },
    owed() {
      if (cancel !== undefined) tell();
    },
  };
}
