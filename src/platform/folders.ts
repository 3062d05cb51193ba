import { access, chmod, constants, mkdir, open, readdir, realpath, rename, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import { isErrno } from "./files.ts";

/** The names in a folder, sorted; none when there is no such folder. */
export async function listNames(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return [];
    throw error;
  }
}

/** Every file and link below a folder, relative to it, sorted. Links are not followed. */
export async function listFilesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name))).toSorted();
}

/** Has the disk hold what was written, so that a rename after it is never there without the content. */
export async function syncFilesBelow(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const file = await open(join(entry.parentPath, entry.name), "r");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
}

/** With everything above it that is missing. */
export async function makeFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
}

/** Renames; false when something with content has the name already. Both must be on one file system. */
export async function moveUnlessTaken(from: string, to: string): Promise<boolean> {
  try {
    await rename(from, to);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOTEMPTY", "EEXIST", "ENOTDIR")) return false;
    throw error;
  }
}

export async function isExecutableFile(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** Where links lead in the end; the path itself when that cannot be found out. */
export async function realPath(path: string): Promise<string> {
  return await realpath(path).catch(() => path);
}

export async function makeExecutable(path: string): Promise<void> {
  await chmod(path, 0o755);
}

/** Changes whenever the file at the path is another or has other content; undefined when there is none. */
export async function fileStamp(path: string): Promise<string | undefined> {
  try {
    const { dev, ino, size, mtimeMs } = await stat(path);
    return [dev, ino, size, mtimeMs].join(":");
  } catch {
    return undefined;
  }
}
