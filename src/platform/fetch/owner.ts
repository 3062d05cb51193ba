import { randomBytes } from "node:crypto";
import { readlink } from "node:fs/promises";
import { readBootId } from "../proc.ts";
import { type Started, stillRuns, thisStarted } from "../running.ts";

/** Which process a part file belongs to, as far as it can be told from outside. */
export interface Owner extends Started {
  /** The machine's boot, shortened. */
  readonly boot: string;
  /** The process's pid namespace: in another one the same pid is another process. */
  readonly namespace: string;
}

/** dead: the file may be taken over. unknown: another machine's or container's, so this one cannot see it. */
export type OwnerFinding = "alive" | "dead" | "unknown";

const UNSEEN = "0";

export async function thisProcess(): Promise<Owner> {
  return { boot: await bootTag(), namespace: await pidNamespace(), ...(await thisStarted()) };
}

export async function findOwner(owner: Owner): Promise<OwnerFinding> {
  if (owner.boot !== (await bootTag()) || owner.namespace !== (await pidNamespace())) return "unknown";
  return (await stillRuns(owner)) ? "alive" : "dead";
}

/** First 12 hex digits of the boot id; machines without one answer "0". */
export async function bootTag(): Promise<string> {
  return ((await readBootId()) ?? "").replace(/[^0-9a-f]/g, "").slice(0, 12) || UNSEEN;
}

async function pidNamespace(): Promise<string> {
  const link = await readlink("/proc/self/ns/pid").catch(() => "");
  return /\d+/.exec(link)?.[0] ?? UNSEEN;
}

const FREE = "free";
const OWNED = /^([0-9a-f]+)\.(\d+)\.(\d+)\.(\d+)\.[0-9a-f]{8}$/;
const RELEASED = /^free\.[0-9a-f]{8}$/;

/** The owner as part of a file name; the random end keeps two downloads of one process apart. */
export const ownedTag = (owner: Owner): string =>
  `${owner.boot}.${owner.namespace}.${String(owner.pid)}.${String(owner.startTicks)}.${randomTag()}`;

export const freeTag = (): string => `${FREE}.${randomTag()}`;

export const randomTag = (): string => randomBytes(4).toString("hex");

/** Undefined when the text is no tag at all. */
export function parseTag(tag: string): Owner | "free" | undefined {
  if (RELEASED.test(tag)) return FREE;
  const [, boot, namespace, pid, startTicks] = OWNED.exec(tag) ?? [];
  if (boot === undefined || namespace === undefined || startTicks === undefined) return undefined;
  return { boot, namespace, pid: Number(pid), startTicks: Number(startTicks) };
}
