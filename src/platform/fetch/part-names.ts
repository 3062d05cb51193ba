import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { isErrno } from "../files.ts";
import { sha256Of } from "../sha256.ts";
import { type Owner, parseTag, randomTag } from "./owner.ts";

/** File systems end names at 255 bytes; the tags need about 80. */
const LONGEST_BASE = 150;

/** Hidden names beside the target, so that nothing that lists models takes a part for one. */
function stem(target: string): string {
  const base = basename(target);
  const short = Buffer.byteLength(base) <= LONGEST_BASE ? base : sha256Of(base).slice(0, 32);
  return `.${short}.`;
}

export const newPartName = (target: string): string => `${stem(target)}${randomTag()}.part`;

/** The journal's name carries its owner: renaming it is how a process takes it, and only one rename can win. */
export const journalPath = (target: string, tag: string): string =>
  join(dirname(target), `${stem(target)}${tag}.journal`);

export interface FoundJournal {
  readonly path: string;
  readonly owner: Owner | "free";
}

export async function journalsOf(target: string): Promise<readonly FoundJournal[]> {
  const start = stem(target);
  const names = await namesIn(dirname(target));
  return names.flatMap((name) => {
    if (!name.startsWith(start) || !name.endsWith(".journal")) return [];
    const owner = parseTag(name.slice(start.length, -".journal".length));
    return owner === undefined ? [] : [{ path: join(dirname(target), name), owner }];
  });
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw error;
  }
}

/** What unfinished downloads in the folder already take of the disk. */
export async function partBytes(folder: string): Promise<number> {
  const parts = (await namesIn(folder)).filter((name) => name.startsWith(".") && name.endsWith(".part"));
  const sizes = await Promise.all(
    // A part is full of holes, so its length says nothing.
    parts.map(async (name) => (await stat(join(folder, name)).catch(() => undefined))?.blocks ?? 0),
  );
  return sizes.reduce((sum, blocks) => sum + blocks * BLOCK_BYTES, 0);
}

/** The unit of st_blocks, whatever the file system's own. */
const BLOCK_BYTES = 512;
