import { constants } from "node:fs";
import { open, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { GONE } from "./file-start.ts";
import { isErrno } from "./files.ts";
import { fromFile, readRange } from "./read-range.ts";

/**
 * The size of a regular file below a folder, when no link stands on the way to it: what lies elsewhere is not the folder's.
 * Undefined when there is no such file. `name` has forward slashes.
 */
export async function plainFileBytes(folder: string, name: string): Promise<number | undefined> {
  try {
    const path = join(folder, name);
    const [root, real, found] = await Promise.all([realpath(folder), realpath(path), stat(path)]);
    return real === join(root, name) && found.isFile() ? found.size : undefined;
  } catch (error) {
    if (isErrno(error, ...GONE)) return undefined;
    throw error;
  }
}

/** Bytes of a file that is no link; fewer where the file ends earlier, undefined when it cannot be opened. */
export async function readPlainFile(
  path: string,
  range: { readonly start: number; readonly end: number },
): Promise<Uint8Array | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    return await readRange(fromFile(file), range);
  } catch (error) {
    if (isErrno(error, ...GONE, "EIO", "ESTALE")) return undefined;
    throw error;
  }
}
