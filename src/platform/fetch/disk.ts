import { stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { messageOf } from "../../core/errors.ts";
import { formatBytes } from "../../core/format.ts";
import { isErrno } from "../files.ts";
import type { FetchFailure } from "./failure.ts";

/** The disk's no, carried through code that otherwise meets only the network's. */
export class DiskError extends Error {
  readonly failure: FetchFailure;

  constructor(failure: FetchFailure, cause: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

/** Runs what touches the disk; what it throws becomes a DiskError that names the path. */
export async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof DiskError) throw error;
    throw new DiskError(diskFailure(path, error), error);
  }
}

function diskFailure(path: string, error: unknown): FetchFailure {
  if (isErrno(error, "ENOSPC", "EDQUOT")) {
    return { kind: "no-space", message: `the disk that holds ${path} became full while the file was written` };
  }
  return { kind: "refused", message: `${path} cannot be written: ${messageOf(error)}` };
}

const noSpace = (folder: string, needed: number, free: number): FetchFailure => ({
  kind: "no-space",
  message:
    `${formatBytes(needed)} (${String(needed)} bytes) are needed in ${folder}, ` +
    `${formatBytes(free)} (${String(free)} bytes) are free`,
});

interface Reservation {
  readonly device: number;
  /** What it will still write. */
  readonly remaining: () => number;
}

/** Knows what running downloads will still write, so that ten files that fit one by one are not all begun. */
export interface DiskSpace {
  /** A failure when the folder's disk cannot take so many more bytes; otherwise they are promised until `release`. */
  reserve(folder: string, remaining: () => number): Promise<FetchFailure | (() => void)>;
  /** Remembers that what is free now was not enough for `target`: a file of unknown size needs clearly more. */
  noteFull(target: string): Promise<void>;
  /** A failure as long as there is hardly more free space than what was not enough for `target` before. */
  stillFull(target: string): Promise<FetchFailure | undefined>;
}

/** Free space moves by itself a little all the time; that alone is no reason to fetch everything again. */
const CLEARLY_MORE = 1.1;

export function createDiskSpace(): DiskSpace {
  const reservations = new Set<Reservation>();
  const notEnough = new Map<string, number>();
  return {
    async reserve(folder, remaining) {
      const { free, device } = await freeIn(folder);
      const promised = [...reservations]
        .filter((other) => other.device === device)
        .reduce((sum, other) => sum + other.remaining(), 0);
      const available = Math.max(0, free - promised);
      if (remaining() > available) return noSpace(folder, remaining(), available);
      const mine = { device, remaining };
      reservations.add(mine);
      return () => reservations.delete(mine);
    },
    async noteFull(target) {
      const { free } = await freeIn(dirname(target));
      notEnough.set(target, Math.ceil(free * CLEARLY_MORE));
    },
    async stillFull(target) {
      const needed = notEnough.get(target);
      if (needed === undefined) return undefined;
      const { free } = await freeIn(dirname(target));
      if (free <= needed) return noSpace(dirname(target), needed + 1, free);
      notEnough.delete(target);
      return undefined;
    },
  };
}

/** Of the nearest folder that exists: the target's own may still have to be made. */
async function freeIn(folder: string): Promise<{ readonly free: number; readonly device: number }> {
  try {
    const [space, { dev }] = await Promise.all([statfs(folder), stat(folder)]);
    return { free: space.bavail * space.bsize, device: dev };
  } catch (error) {
    if (!isErrno(error, "ENOENT") || dirname(folder) === folder) throw error;
    return await freeIn(dirname(folder));
  }
}
