import { open, stat } from "node:fs/promises";
import { isErrno } from "./files.ts";
import { fromFile, readRange } from "./read-range.ts";

export interface FileStamp {
  readonly isFolder: boolean;
  readonly bytes: number;
  /** When its content was last changed, by the file system. */
  readonly changedAtMs: number;
}

/** Of a file that is not there, or that nobody may look at. */
export const GONE = ["ENOENT", "ENOTDIR", "EACCES", "ELOOP"] as const;

/** What tells one content of a file from the next; undefined when it is not there or may not be looked at. */
export async function stampOf(path: string): Promise<FileStamp | undefined> {
  try {
    const found = await stat(path);
    return { isFolder: found.isDirectory(), bytes: found.size, changedAtMs: found.mtimeMs };
  } catch (error) {
    if (isErrno(error, ...GONE)) return undefined;
    throw error;
  }
}

/** The first bytes of a file, at most `length` of them; undefined when it cannot be read. */
export async function readStart(path: string, length: number): Promise<Uint8Array | undefined> {
  try {
    await using file = await open(path, "r");
    return await readRange(fromFile(file), { start: 0, end: length });
  } catch (error) {
    if (isErrno(error, ...GONE, "EIO", "EISDIR", "ESTALE")) return undefined;
    throw error;
  }
}
