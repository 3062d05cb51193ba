import { mkdir } from "node:fs/promises";
import { basename, dirname, resolve } from "node:path";
import { bytes } from "../../core/ids.ts";
import { pieceRange } from "../../core/pieces.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { readRange } from "../read-range.ts";
import { claimPart, createPart } from "./claim.ts";
import type { FetchContext } from "./context.ts";
import { DiskError, type DiskSpace, onDisk } from "./disk.ts";
import type { FetchFailure } from "./failure.ts";
import type { FetchedFile } from "./fetch-file.ts";
import { createFrontierHash, type HashedFile } from "./frontier-hash.ts";
import type { PieceNote } from "./open-parts.ts";
import type { PartFile } from "./part-file.ts";
import { covered, reachFrom } from "./ranges.ts";
import { sha256Of } from "../sha256.ts";

export interface GatherRequest {
  readonly target: string;
  readonly size: number;
  /** Hex. Left out: not known yet, and what an earlier download left is of no use. */
  readonly sha256?: string;
  readonly signal: AbortSignal;
}

/** A file that is put together from pieces. Every method throws DiskError. */
export interface Gathering {
  /** Pieces with right bytes, in the order in which they came. */
  notes(): readonly PieceNote[];
  /** Whether an earlier download has left the piece with that hash here: then it is there. */
  recover(note: PieceNote): Promise<boolean>;
  /** False: these are not the bytes of that hash, and nothing was written. */
  put(note: PieceNote, data: Uint8Array): Promise<boolean>;
  /** Once every piece is there: the file under its name, or a failure and nothing. `sha256`: what it must be, in hex. */
  finish(sha256: string): Promise<Result<FetchedFile, FetchFailure>>;
  /** Leaves what is there for the next download of the target. */
  release(): Promise<void>;
  /** None of it is worth anything. */
  discard(): Promise<void>;
}

/** Books the room on the disk and takes over what an earlier download of the same bytes left. */
export async function openGathering(
  context: FetchContext,
  space: DiskSpace,
  request: GatherRequest,
): Promise<Result<Gathering, FetchFailure>> {
  const target = resolve(request.target);
  try {
    await onDisk(target, () => mkdir(dirname(target), { recursive: true }));
    const part = await openPart(context, { ...request, target });
    const booked = await space.reserve(dirname(target), () => Math.max(0, request.size - covered(part.written())));
    if (typeof booked === "function") return ok(gathering({ context, part, release: booked }, { ...request, target }));
    await part.release();
    return err(booked);
  } catch (error) {
    if (error instanceof DiskError) return err(error.failure);
    throw error;
  }
}

async function openPart(context: FetchContext, { target, size, sha256, signal }: GatherRequest): Promise<PartFile> {
  // Only what is known by its hash is the same wherever it comes from.
  const wanted = {
    target,
    url: new URL(`peers:${encodeURIComponent(basename(target))}`),
    sha256: sha256?.toLowerCase(),
  };
  const claimed = await claimPart(wanted, context.clock, signal);
  if (claimed !== undefined && claimed.size === size) return claimed.part;
  await claimed?.part.discard();
  return await createPart({ ...wanted, size, validator: undefined }, context.clock);
}

interface Opened {
  readonly context: FetchContext;
  readonly part: PartFile;
  /** Gives back what was booked on the disk. */
  readonly release: () => void;
}

function gathering({ context, part, release }: Opened, { target, size }: GatherRequest): Gathering {
  const hasher = createFrontierHash();
  const notes: PieceNote[] = [];
  const there = new Set<number>();
  const left = part.written();
  const generation = basename(part.path);
  const close = context.open.register(target, () => ({
    ...{ size, generation },
    notes: () => notes,
    read: (range) => readRange(part, range),
  }));
  const note = (one: PieceNote): void => {
    if (there.has(one.index)) return;
    there.add(one.index);
    notes.push(one);
  };
  const end = (): void => {
    close();
    release();
  };
  return {
    notes: () => notes,
    async recover(one) {
      const range = pieceRange(size, one.index);
      if (there.has(one.index)) return true;
      if (reachFrom(left, range.start) < range.end || sha256Of(await readRange(part, range)) !== one.sha256)
        return false;
      note(one);
      return true;
    },
    async put(one, data) {
      const { start, end: last } = pieceRange(size, one.index);
      if (data.length !== last - start || sha256Of(data) !== one.sha256) return false;
      await part.write(data, start);
      await part.record();
      note(one);
      hasher.follow(part);
      return true;
    },
    async finish(sha256) {
      const hash = await hasher.finish(part);
      const pieces = notes.toSorted((a, b) => a.index - b.index).map((one) => one.sha256);
      end();
      if (hash.bytes === size && hash.sha256 === sha256.toLowerCase()) {
        await part.finish(target);
        return ok({ path: target, bytes: bytes(size), sha256: hash.sha256, pieces });
      }
      await part.discard();
      return err(notRight(target, hash, { sha256, bytes: size }));
    },
    async release() {
      end();
      await part.release();
    },
    async discard() {
      end();
      await part.discard();
    },
  };
}

const notRight = (target: string, is: HashedFile, wanted: HashedFile): FetchFailure => ({
  kind: "checksum",
  message: `${target} came together as ${String(is.bytes)} bytes with the sha256 ${is.sha256}; right are ${String(wanted.bytes)} bytes with ${wanted.sha256}`,
});
