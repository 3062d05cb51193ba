import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isErrno } from "./files.ts";

/** The folder's entries with their whole paths, sorted; undefined when the path is no folder. */
export async function entriesOf(path: string): Promise<readonly string[] | undefined> {
  try {
    return (await readdir(path)).toSorted().map((name) => join(path, name));
  } catch (error) {
    if (isErrno(error, "ENOTDIR", "ENOENT")) return undefined;
    throw error;
  }
}
