import { constants } from "node:fs";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Writes the whole file or nothing: a temporary file beside the target, synced, then renamed over it. A reader, or this
 * process after a kill, sees the old content or the new, never a part.
 */
export async function writeFileAtomic(path: string, content: string | Uint8Array, mode = 0o644): Promise<void> {
  const folder = dirname(path);
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `.${basename(path)}.${String(process.pid)}.tmp`);
  try {
    await writeSynced(temporary, content, mode);
    await rename(temporary, path);
  } catch (error) {
    // On a full disk a leftover would take the room that the next try needs.
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(folder);
}

async function writeSynced(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, mode);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a rename in the folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The file's text, or undefined when there is none. Any other failure is thrown. */
export async function readTextIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

export function isErrno(error: unknown, ...codes: readonly string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && "code" in error && typeof error.code === "string" && codes.includes(error.code);
}

/** Gives a file another name, in a folder that is made for it; nothing when it is not there. Whoever has it open keeps it. */
export async function moveAside(path: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true });
  try {
    await rename(path, to);
  } catch (error) {
    if (!isErrno(error, "ENOENT")) throw error;
  }
}

export async function removeIfThere(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}
