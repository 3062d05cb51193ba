import { basename, dirname, join } from "node:path";
import { LlmgwError } from "../core/errors.ts";
import type { Millis } from "../core/ids.ts";
import { acquireLock } from "../platform/lock.ts";
import { stampOf } from "../platform/file-start.ts";
import { piecesOf, removeAll, renameOver, type WrittenFile, writePieces } from "../platform/pieces.ts";
import { closeSqlite, examineSqlite, type StoreContents } from "../store/sqlite-copy.ts";

export type { StoreContents } from "../store/sqlite-copy.ts";

/** A copy of a store that is whole and was read. */
export interface KeptCopy extends WrittenFile {
  readonly contents: StoreContents;
}

interface Keeping {
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Told when the pieces are at their end: what they must have been. */
  readonly promised: () => WrittenFile | undefined;
}

/** Writes a copy of a store into a file of mode 0600, over what has its name. It gets the name when it is whole and was read. */
export async function keepCopy(file: string, { pieces, promised }: Keeping): Promise<KeptCopy> {
  const part = beside(file, PART);
  try {
    const written = await writePieces(part, pieces);
    const wanted = promised();
    if (wanted?.sha256 !== written.sha256 || wanted.bytes !== written.bytes) {
      throw new LlmgwError(
        "FAILED",
        `The copy broke off after ${String(written.bytes)} bytes; ${file} was not written.`,
      );
    }
    const contents = examined(part);
    await renameOver(part, file);
    return { ...written, contents };
  } finally {
    await removeAll([part]);
  }
}

interface Restoring {
  /** The copy. */
  readonly from: string;
  /** The store's file. */
  readonly store: string;
  /** Whose lock a running control plane holds. */
  readonly dataDir: string;
  /** Whether a store with something in it may be put aside. */
  readonly force: boolean;
  readonly now: Millis;
}

export interface Restored {
  readonly contents: StoreContents;
  /** Where the store lies that was there; undefined: there was none with anything in it. */
  readonly before: string | undefined;
}

/** Puts a copy in a store's place while no control plane runs on it. What was there is kept beside it. */
export async function restoreStore({ from, store, dataDir, force, now }: Restoring): Promise<Restored> {
  if ((await stampOf(from)) === undefined) throw new LlmgwError("BAD_REQUEST", `There is no file ${from}.`);
  examined(from);
  const lock = await acquireLock(join(dataDir, "server.lock"));
  if (!lock.ok) {
    const pid = String(lock.error.pid);
    throw new LlmgwError("CONFLICT", `A control plane runs on ${dataDir}, as process ${pid}: stop it first.`);
  }
  try {
    const there = await whatIsThere(store, force);
    const part = beside(store, PART);
    try {
      await writePieces(part, piecesOf(from));
      examined(part);
      const before = there === "nothing" ? undefined : beside(store, `before-${stamp(now)}`);
      await putAside(store, before);
      await renameOver(part, store);
      return { contents: examined(store), before };
    } finally {
      await removeAll([part]);
    }
  } finally {
    await lock.value.release();
  }
}

/** A store's own log must not stay beside another store: it would be read into it. */
async function putAside(store: string, before: string | undefined): Promise<void> {
  for (const suffix of ["", "-wal", "-shm"]) {
    const file = `${store}${suffix}`;
    if ((await stampOf(file)) === undefined) continue;
    if (before === undefined) await removeAll([file]);
    else await renameOver(file, `${before}${suffix}`);
  }
}

/** "nothing": a fresh store is as good as none. Fails when something would be lost or somebody else is using it. */
async function whatIsThere(store: string, force: boolean): Promise<"nothing" | "something"> {
  if (((await stampOf(store))?.bytes ?? 0) === 0) return "nothing";
  const seen = examineSqlite(store);
  if (seen.ok && !closeSqlite(store)) {
    throw new LlmgwError("CONFLICT", `Another process has the store ${store} open: stop it first.`);
  }
  if (seen.ok && !holdsAnything(seen.value)) return "nothing";
  const holds = seen.ok ? `holds ${contentsInWords(seen.value)}` : "cannot be read";
  if (!force) {
    throw new LlmgwError("CONFLICT", `The store ${store} ${holds}: --force puts it aside for the copy.`);
  }
  return "something";
}

const holdsAnything = ({ profiles, nodes, replicas, keys }: StoreContents): boolean =>
  profiles + nodes + replicas + keys > 0;

function examined(path: string): StoreContents {
  const seen = examineSqlite(path);
  if (seen.ok) return seen.value;
  throw new LlmgwError("FAILED", `${seen.error}.`);
}

export const contentsInWords = ({ profiles, nodes, replicas, keys, events }: StoreContents): string =>
  [
    count(profiles, "profile"),
    count(nodes, "node"),
    count(replicas, "replica"),
    count(keys, "client key"),
    count(events, "event"),
  ].join(", ");

const count = (n: number, what: string): string => `${String(n)} ${what}${n === 1 ? "" : "s"}`;

/** Beside its target, so that it can be renamed; of this process, so that two do not write into one. */
const PART = `part-${String(process.pid)}`;

const beside = (path: string, what: string): string => join(dirname(path), `${basename(path)}.${what}`);

/** "20260131T235959Z" */
const stamp = (now: Millis): string => new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
