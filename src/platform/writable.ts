import { access, constants } from "node:fs/promises";
import { messageOf } from "../core/errors.ts";
import { isErrno } from "./files.ts";
import { readDisk } from "./host.ts";

/** Less than this is as good as full: a few small files do not fit. */
const FULL_BELOW_BYTES = 256 * 1024;

/** Why nothing can be written in the folder, as the end of a sentence about it; undefined: it can, or is not there yet. */
export async function whyNotWritable(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    return isErrno(error, "EROFS") ? "is read-only" : `cannot be written: ${messageOf(error)}`;
  }
  const disk = await readDisk(folder);
  return disk !== undefined && disk.free < FULL_BELOW_BYTES ? "is on a disk that is full" : undefined;
}
