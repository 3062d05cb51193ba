import { type FileHandle, open, rename, stat, truncate } from "node:fs/promises";
import { isErrno } from "./files.ts";

const BLOCK = 64 * 1024;
const NEWLINE = 10;

/** Bytes in the file; 0 when there is none. */
export async function logSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return 0;
    throw error;
  }
}

/** Where the last `lines` lines of the file begin, not before `from`. An unfinished last line counts as one. */
export async function startOfTail(path: string, lines: number, from = 0): Promise<number> {
  if (lines <= 0) return logSize(path);
  return (await withLog(path, (file) => findTail(file, lines, from))) ?? 0;
}

async function findTail(file: FileHandle, lines: number, from: number): Promise<number> {
  const { size } = await file.stat();
  let missing = lines;
  let end = size;
  while (end > from) {
    const start = Math.max(from, end - BLOCK);
    const block = Buffer.alloc(end - start);
    const { bytesRead } = await file.read(block, 0, block.length, start);
    for (let at = bytesRead - 1; at >= 0; at--) {
      // The newline that ends the last line begins no further one.
      if (block[at] !== NEWLINE || start + at === size - 1) continue;
      missing -= 1;
      if (missing === 0) return start + at + 1;
    }
    end = start;
  }
  return from;
}

export interface LogPiece {
  readonly lines: readonly string[];
  /** Where the next piece begins. */
  readonly next: number;
}

/**
 * The whole lines from `offset` on, up to 64 KiB of them; an unfinished line is left for the next call. A line that alone
 * is longer comes in parts, so that a program that never ends its lines is seen too. Undefined: nothing new, and with
 * `final` not even an unfinished line.
 */
export async function readPiece(path: string, offset: number, final: boolean): Promise<LogPiece | undefined> {
  return withLog(path, async (file) => {
    const { size } = await file.stat();
    // The file was cut short or replaced: what is there now is new.
    const start = size < offset ? 0 : offset;
    const block = Buffer.alloc(Math.min(BLOCK, size - start));
    const { bytesRead } = await file.read(block, 0, block.length, start);
    const read = block.subarray(0, bytesRead);
    const whole = read.lastIndexOf(NEWLINE) + 1;
    const used = whole > 0 ? whole : bytesRead === BLOCK ? withoutPart(read) : final ? bytesRead : 0;
    if (used === 0) return undefined;
    const text = read.subarray(0, used).toString("utf8");
    const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
    return { lines: lines.map(asShown), next: start + used };
  });
}

/** Bytes before the last character's beginning, if that could go on behind them: half of a character is none. */
function withoutPart(read: Buffer): number {
  const from = read.length - 4;
  for (let at = read.length - 1; at > from; at--) {
    const byte = read[at] ?? 0;
    if (byte < 0x80) return at + 1;
    // 11xxxxxx begins a character, 10xxxxxx goes on with one.
    if (byte >= 0xc0) return at;
  }
  return read.length;
}

/** A progress bar goes back to the start of its line for each step: what a terminal would show in the end is the last. */
function asShown(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}

/** The last `lines` lines, not before `from`, and of those at most the last 256 KiB. */
export async function readTail(path: string, lines: number, from = 0): Promise<readonly string[]> {
  const kept = Math.max(from, (await logSize(path)) - 4 * BLOCK);
  let offset = await startOfTail(path, lines, kept);
  const all: string[] = [];
  for (;;) {
    const piece = await readPiece(path, offset, true);
    if (piece === undefined || piece.next <= offset) return all.slice(-lines);
    all.push(...piece.lines);
    offset = piece.next;
  }
}

/** Puts a log that has grown over the limit aside as PATH.1, in place of an older one. For a log that nobody writes to. */
export async function setAsideIfLarge(path: string, limit: number): Promise<void> {
  if ((await logSize(path)) > limit) await rename(path, `${path}.1`);
}

/**
 * Puts the last `kept` bytes of a log aside as PATH.1, in place of an older one, and empties it. The writer goes on writing,
 * provided that it appends; the few lines that it writes in between are lost. A log cannot be renamed under its writer.
 */
export async function cutLog(path: string, kept: number): Promise<void> {
  const aside = `${path}.1`;
  const target = await open(`${aside}.new`, "w", 0o600);
  try {
    await withLog(path, async (file) => {
      const block = Buffer.alloc(16 * BLOCK);
      const { size } = await file.stat();
      let at = Math.max(0, size - kept);
      while (at < size) {
        const { bytesRead } = await file.read(block, 0, Math.min(block.length, size - at), at);
        if (bytesRead === 0) break;
        await target.write(block, 0, bytesRead);
        at += bytesRead;
      }
    });
  } finally {
    await target.close();
  }
  await rename(`${aside}.new`, aside);
  await truncate(path, 0);
}

/** The last lines of a log that was cut: what is missing in it is taken from the part that was put aside. */
export async function readTailAcrossCut(path: string, lines: number): Promise<readonly string[]> {
  const own = await readTail(path, lines);
  const older = own.length < lines ? await readTail(`${path}.1`, lines - own.length) : [];
  return [...older, ...own];
}

async function withLog<T>(path: string, use: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
  let file: FileHandle;
  try {
    file = await open(path, "r");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}
