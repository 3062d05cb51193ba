import { type FileHandle, open, rename, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Millis, millis } from "../../core/ids.ts";
import type { Clock } from "../clock.ts";
import { removeIfThere, syncFolder } from "../files.ts";
import { onDisk } from "./disk.ts";
import { headerLine, type JournalHeader, rangeLine, syncLine } from "./journal.ts";
import { freeTag } from "./owner.ts";
import { journalPath } from "./part-names.ts";
import { covered, type RangeSet, withRange } from "./ranges.ts";

/** How often a living download touches its journal, and brings what it wrote to the disk itself. */
export const BEAT: Millis = millis(5000);
/** What a kill may cost: bytes written, but not yet in the journal. */
const RECORD_EVERY_BYTES = 256 * 1024;
const RECORD_EVERY_MS = 100;

/** The data of an unfinished download and its journal. One process writes it; every method throws DiskError. */
export interface PartFile {
  readonly path: string;
  written(): RangeSet;
  write(chunk: Uint8Array, position: number): Promise<void>;
  read(buffer: Uint8Array, position: number): Promise<number>;
  /** Brings the journal up to date. */
  record(): Promise<void>;
  /** Makes it the target: synced, then renamed. */
  finish(target: string): Promise<void>;
  /** Lets go of it; the next download of the target goes on from here. */
  release(): Promise<void>;
  discard(): Promise<void>;
}

export interface PartPlace {
  readonly target: string;
  readonly header: JournalHeader;
  /** The journal's path while this process owns it. */
  readonly journal: string;
  readonly written: RangeSet;
  readonly clock: Clock;
}

/** A new part file, or one that this process has just claimed: then `written` says what is in it. */
export async function openPart(place: PartPlace, isNew: boolean): Promise<PartFile> {
  const path = join(dirname(place.target), place.header.part);
  return await onDisk(path, async () => {
    const journal = await open(place.journal, isNew ? "wx" : "a");
    try {
      // The header first: a part file without a journal would belong to nobody.
      if (isNew) await journal.write(headerLine(place.header));
      const data = await open(path, isNew ? "wx+" : "r+");
      return partFile({ ...place, path, data, journalFile: journal });
    } catch (error) {
      await journal.close();
      if (isNew) await removeIfThere(place.journal);
      throw error;
    }
  });
}

interface OpenPlace extends PartPlace {
  readonly path: string;
  readonly data: FileHandle;
  readonly journalFile: FileHandle;
}

function partFile(place: OpenPlace): PartFile {
  const { path, data } = place;
  const notes = createNotes(place);
  const stopBeating = beat(place, notes);
  let written = place.written;

  const close = async (): Promise<void> => {
    stopBeating();
    await notes.settled();
    await Promise.all([data.close(), place.journalFile.close()]);
  };

  /** Whatever the work says, no handle stays open. */
  const closing = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } finally {
      await close();
    }
  };

  return {
    path,
    written: () => written,
    write: (chunk, position) =>
      onDisk(path, async () => {
        await writeAll(data, chunk, position);
        written = withRange(written, { start: position, end: position + chunk.length });
        await notes.add(position, position + chunk.length);
      }),
    read: (buffer, position) =>
      onDisk(path, async () => (await data.read(buffer, 0, buffer.length, position)).bytesRead),
    record: () => onDisk(place.journal, () => notes.flush()),
    finish: (target) =>
      onDisk(target, async () => {
        await closing(() => data.sync());
        await rename(path, target);
        await syncFolder(dirname(target));
        await removeIfThere(place.journal);
      }),
    release: () =>
      onDisk(place.journal, async () => {
        await closing(() => notes.flush());
        await rename(place.journal, journalPath(place.target, freeTag()));
      }),
    discard: async () => {
      await close().catch(() => undefined);
      // The journal last: while it is there, a leftover part file is found and removed.
      await removeIfThere(path);
      await removeIfThere(place.journal);
    },
  };
}

async function writeAll(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  let offset = 0;
  // A disk that becomes full takes a part of the chunk before it says no.
  while (offset < chunk.length) {
    const { bytesWritten } = await file.write(chunk, offset, chunk.length - offset, position + offset);
    offset += bytesWritten;
  }
}

/** The journal's lines, gathered so that fast downloads do not write a line for every chunk. */
interface Notes {
  add(start: number, end: number): Promise<void>;
  flush(): Promise<void>;
  /** Everything in the journal so far is on the disk itself. */
  synced(sync: () => Promise<void>): Promise<void>;
  /** Resolves when no line is being written. */
  settled(): Promise<void>;
}

function createNotes({ journalFile, clock }: OpenPlace): Notes {
  let pending: RangeSet = [];
  let lines = 0;
  let lastFlush = clock.monotonic();
  // One after the other: appended lines must stand in the order in which they became true.
  let tail: Promise<void> = Promise.resolve();
  const append = (text: string): Promise<void> => {
    const next = tail.then(async () => {
      await journalFile.appendFile(text);
    });
    tail = next.catch(() => undefined);
    return next;
  };
  const flush = async (): Promise<void> => {
    if (pending.length === 0) return;
    const text = pending.map(({ start, end }) => rangeLine(start, end)).join("");
    lines += pending.length;
    pending = [];
    lastFlush = clock.monotonic();
    await append(text);
  };
  return {
    flush,
    async add(start, end) {
      pending = withRange(pending, { start, end });
      const isDue = covered(pending) >= RECORD_EVERY_BYTES || clock.monotonic() - lastFlush >= RECORD_EVERY_MS;
      if (isDue) await flush();
    },
    async synced(sync) {
      const before = lines;
      await sync();
      await append(syncLine(before));
    },
    settled: () => tail,
  };
}

/** Shows other processes that this download lives, and bounds what a power cut can cost. */
function beat(place: OpenPlace, notes: Notes): () => void {
  let isStopped = false;
  let cancel = place.clock.after(BEAT, () => void tick());
  const tick = async (): Promise<void> => {
    try {
      const now = new Date();
      await utimes(place.journal, now, now);
      await notes.flush();
      await notes.synced(() => place.data.datasync());
    } catch {
      // A full or failing disk is met by the next write, which has someone to tell.
    }
    if (!isStopped) cancel = place.clock.after(BEAT, () => void tick());
  };
  return () => {
    isStopped = true;
    cancel();
  };
}
