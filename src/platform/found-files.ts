import type { Stats } from "node:fs";
import { mkdir, readdir, realpath, rename, rm, stat, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isErrno, syncFolder } from "./files.ts";

export interface FoundFile {
  /** Relative to the folder, with forward slashes. */
  readonly name: string;
  /** Of what a link leads to. */
  readonly bytes: number;
  /** The same for two names of one file, so that its bytes are not counted twice. */
  readonly inode: string;
}

/**
 * The regular files below a folder, links followed, sorted; none when there is no such folder. Hidden names are left out, and
 * so are links to nowhere: what cannot be read is not there. `depth` 1 is the folder alone.
 */
export async function filesBelow(folder: string, depth: number): Promise<readonly FoundFile[]> {
  const names = (await namesIn(folder)).filter((name) => !name.startsWith("."));
  const found = await Promise.all(names.map((name) => lookAt(folder, name, depth)));
  return found.flat();
}

async function lookAt(folder: string, name: string, depth: number): Promise<readonly FoundFile[]> {
  const path = join(folder, name);
  const looked = await statIfThere(path);
  if (looked === undefined) return [];
  if (looked.isFile()) return [{ name, bytes: looked.size, inode: `${String(looked.dev)}:${String(looked.ino)}` }];
  if (!looked.isDirectory() || depth <= 1) return [];
  const inside = await filesBelow(path, depth - 1);
  return inside.map((file) => ({ ...file, name: `${name}/${file.name}` }));
}

/** One file, links followed; undefined when there is none, or only a link to nowhere. */
export async function findFile(path: string): Promise<FoundFile | undefined> {
  const looked = await statIfThere(path);
  if (looked?.isFile() !== true) return undefined;
  return { name: basename(path), bytes: looked.size, inode: `${String(looked.dev)}:${String(looked.ino)}` };
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).toSorted();
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES")) return [];
    throw error;
  }
}

async function statIfThere(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    // ELOOP: a link that leads to itself.
    if (isErrno(error, "ENOENT", "ENOTDIR", "EACCES", "ELOOP")) return undefined;
    throw error;
  }
}

/**
 * Makes `path` a link to what `target` finally leads to. Whole and absolute, because a relative one that is copied from
 * elsewhere leads to nowhere; renamed into place, so that there is never a moment without.
 */
export async function linkTo(target: string, path: string): Promise<void> {
  const real = await realpath(target);
  await mkdir(dirname(path), { recursive: true });
  const temporary = join(dirname(path), `.${basename(path)}.${String(process.pid)}.link`);
  await rm(temporary, { force: true });
  await symlink(real, temporary);
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** The names of the folders in a folder, links followed, hidden ones left out, sorted. */
export async function foldersIn(folder: string): Promise<readonly string[]> {
  const names = (await namesIn(folder)).filter((name) => !name.startsWith("."));
  const looked = await Promise.all(names.map((name) => statIfThere(join(folder, name))));
  return names.filter((_, i) => looked[i]?.isDirectory() === true);
}
