import { mkdir, readdir, rename } from "node:fs/promises";
import { isErrno } from "./files.ts";

/** The names of the folders in it, sorted; none when it is not there. */
export async function listFolders(path: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).toSorted();
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

/** Renames a file that cannot be believed, so that a person may still look at it, and answers its new path. */
export async function setAside(path: string): Promise<string> {
  const aside = `${path}.not-believed`;
  await rename(path, aside);
  return aside;
}

/** For this user alone: what is in it may hold prompts and keys. */
export async function makePrivateFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
}
