import { rename, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { millis } from "../../core/ids.ts";
import { type Clock, pause } from "../clock.ts";
import { isErrno, readTextIfThere, removeIfThere } from "../files.ts";
import { onDisk } from "./disk.ts";
import { shownUrl } from "./failure.ts";
import { type Journal, parseJournal } from "./journal.ts";
import { bootTag, findOwner, ownedTag, thisProcess } from "./owner.ts";
import { BEAT, openPart, type PartFile } from "./part-file.ts";
import { type FoundJournal, journalPath, journalsOf, newPartName } from "./part-names.ts";
import { covered, type RangeSet } from "./ranges.ts";

/** What the bytes are going to be: a part of anything else is of no use. */
export interface Wanted {
  readonly target: string;
  readonly url: URL;
  readonly sha256: string | undefined;
}

export interface Claimed {
  readonly part: PartFile;
  readonly size: number | undefined;
  readonly validator: string | undefined;
}

/**
 * Takes over what a dead download of the same file left, or undefined when there is nothing. No lock is trusted: some
 * network file systems grant every one. A part is taken only from an owner that is proved dead or shows no life for
 * three beats, and by renaming its journal, which only one process can do.
 */
export async function claimPart(wanted: Wanted, clock: Clock, signal: AbortSignal): Promise<Claimed | undefined> {
  return await onDisk(wanted.target, async () => {
    const leftovers = await leftoversOf(wanted.target, clock, signal);
    const usable: Leftover[] = [];
    for (const leftover of leftovers) {
      if (isUsable(leftover, wanted)) usable.push(leftover);
      else await remove(leftover, wanted.target);
    }
    const [best, ...others] = usable.toSorted((a, b) => covered(b.written) - covered(a.written));
    if (best === undefined) return undefined;
    for (const other of others) await remove(other, wanted.target);
    return await take(best, wanted, clock);
  });
}

export interface NewPart extends Wanted {
  readonly size: number | undefined;
  readonly validator: string | undefined;
}

export async function createPart(about: NewPart, clock: Clock): Promise<PartFile> {
  const header = {
    part: newPartName(about.target),
    url: shownUrl(about.url),
    sha256: about.sha256,
    size: about.size,
    validator: about.validator,
    boot: await bootTag(),
  };
  const journal = journalPath(about.target, ownedTag(await thisProcess()));
  return await openPart({ target: about.target, header, journal, written: [], clock }, true);
}

interface Leftover {
  readonly path: string;
  readonly journal: Journal | undefined;
  /** What is really there: after a power cut, only what had been synced. */
  readonly written: RangeSet;
}

async function leftoversOf(target: string, clock: Clock, signal: AbortSignal): Promise<readonly Leftover[]> {
  const found = await journalsOf(target);
  const dead = await Promise.all(
    found.map(async (one) => ((await isDead(one, clock, signal)) ? [await readLeftover(one.path, target)] : [])),
  );
  return dead.flat();
}

async function isDead({ path, owner }: FoundJournal, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (owner === "free") return true;
  const finding = await findOwner(owner);
  if (finding !== "unknown") return finding === "dead";
  const before = await signOfLife(path);
  await pause(clock, millis(3 * BEAT), signal);
  return !signal.aborted && before !== undefined && before === (await signOfLife(path));
}

/** Compared with itself only: the clock of a network file system need not be this machine's. */
async function signOfLife(path: string): Promise<string | undefined> {
  try {
    const { mtimeMs, size } = await stat(path);
    return `${String(mtimeMs)} ${String(size)}`;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

async function readLeftover(path: string, target: string): Promise<Leftover> {
  const journal = parseJournal((await readTextIfThere(path)) ?? "");
  if (journal === undefined) return { path, journal, written: [] };
  const trusted = journal.header.boot === (await bootTag()) ? journal.written : journal.synced;
  const size = await sizeOf(join(dirname(target), journal.header.part));
  const isWhole = (trusted.at(-1)?.end ?? 0) <= (size ?? -1);
  return { path, journal, written: isWhole ? trusted : [] };
}

async function sizeOf(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? found.size : undefined;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

function isUsable({ journal, written }: Leftover, wanted: Wanted): boolean {
  if (journal === undefined || written.length === 0) return false;
  const { sha256, url, validator } = journal.header;
  if (wanted.sha256 !== undefined && sha256 !== undefined) return wanted.sha256 === sha256;
  // Without a hash only the server can say whether its file is still the same, and needs the validator for that.
  return url === shownUrl(wanted.url) && validator !== undefined;
}

async function take({ path, journal, written }: Leftover, wanted: Wanted, clock: Clock): Promise<Claimed | undefined> {
  if (journal === undefined) return undefined;
  const mine = journalPath(wanted.target, ownedTag(await thisProcess()));
  try {
    await rename(path, mine);
  } catch (error) {
    // Another process was faster.
    if (isErrno(error, "ENOENT")) return undefined;
    throw error;
  }
  const { header } = journal;
  const part = await openPart({ target: wanted.target, header, journal: mine, written, clock }, false);
  return { part, size: header.size, validator: header.validator };
}

async function remove({ path, journal }: Leftover, target: string): Promise<void> {
  if (journal !== undefined) await removeIfThere(join(dirname(target), journal.header.part));
  await removeIfThere(path);
}
