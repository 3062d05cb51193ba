import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { link, mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { err, ok, type Result } from "../core/result.ts";
import { isErrno } from "./files.ts";
import { readBootId } from "./proc.ts";
import { type Started, stillRuns, thisStarted } from "./running.ts";

/** Held until released, or until the process that took it is proven to be gone. */
export interface Lock {
  release(): Promise<void>;
}

interface Owner extends Started {
  readonly bootId: string;
}

/**
 * Takes the lock, or says which living process holds it. A lock whose owner is gone is taken over: gone means that the
 * machine was started again, that no such process exists, or that its pid belongs to a process started at another time.
 */
export async function acquireLock(path: string): Promise<Result<Lock, { readonly pid: number }>> {
  const self = { ...(await thisStarted()), bootId: (await readBootId()) ?? "" };
  await mkdir(dirname(path), { recursive: true });
  const mine = `${path}.${randomUUID()}`;
  await writeWhole(mine, JSON.stringify(self));
  try {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      if (await linkUnlessThere(mine, path)) return ok({ release: () => releaseIfOurs(path, self) });
      const owner = await livingOwner(path);
      if (owner !== undefined) return err({ pid: owner.pid });
      await clearStale(path, mine);
    }
    throw new Error(`the lock ${path} changes hands too fast; is something starting in a loop?`);
  } finally {
    await rm(mine, { force: true });
  }
}

const MOST_ROUNDS = 500;
const ROUND_MS = 10;

/**
 * Removes a lock that was found stale. Only one may do so at a time, and it looks again first: without that, a slow second
 * would remove the lock that a quick first has taken meanwhile.
 */
async function clearStale(path: string, mine: string): Promise<void> {
  const clearing = `${path}.clearing`;
  if (!(await linkUnlessThere(mine, clearing))) {
    // A moment's work of another; if that one was killed in the middle of it, its mark is in the way for ever.
    if ((await livingOwner(clearing)) === undefined) await rm(clearing, { force: true });
    await sleep(ROUND_MS);
    return;
  }
  try {
    if ((await livingOwner(path)) === undefined) await rm(path, { force: true });
  } finally {
    await rm(clearing, { force: true });
  }
}

/** A link appears with its whole content at once, or not at all: nobody reads half of an owner. */
async function linkUnlessThere(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to);
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw error;
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function readOwner(path: string): Promise<Owner | "none" | "unreadable"> {
  try {
    return parseOwner(JSON.parse(await readFile(path, "utf8"))) ?? "unreadable";
  } catch (error) {
    if (isErrno(error, "ENOENT")) return "none";
    // Locks are never half-written by us; what is no JSON was put there by something else.
    if (error instanceof SyntaxError) return "unreadable";
    throw error;
  }
}

/** Undefined: there is no lock, or nobody who could hold it. */
async function livingOwner(path: string): Promise<Owner | undefined> {
  const owner = await readOwner(path);
  return typeof owner !== "string" && (await isAlive(owner)) ? owner : undefined;
}

function parseOwner(value: unknown): Owner | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { pid, startTicks, bootId } = value as Readonly<Record<string, unknown>>;
  if (typeof pid !== "number" || typeof startTicks !== "number" || typeof bootId !== "string") return undefined;
  return { pid, startTicks, bootId };
}

async function isAlive(owner: Owner): Promise<boolean> {
  const bootId = await readBootId();
  if (bootId !== undefined && owner.bootId !== "" && bootId !== owner.bootId) return false;
  return await stillRuns(owner);
}

async function releaseIfOurs(path: string, self: Owner): Promise<void> {
  const owner = await readOwner(path);
  if (typeof owner === "string" || owner.pid !== self.pid || owner.startTicks !== self.startTicks) return;
  await rm(path, { force: true });
}
