import { basename, join } from "node:path";
import { entriesOf } from "../../platform/folder.ts";
import { acquireLock, type Lock } from "../../platform/lock.ts";

/** What a router process has left behind that is no more. */
export interface Leftover {
  readonly instance: string;
  /** It did not come to its own end. */
  readonly wasKilled: boolean;
  /** Parts of its journal, the oldest first. */
  readonly segments: readonly string[];
  /** Nobody else looks at these files as long as this is held. */
  readonly lock: Lock;
}

export const lockPath = (folder: string, instance: string): string => join(folder, `${instance}.lock`);

/** Those of the folder whose process is proven to be gone. Of those that live, and of what is no journal, nothing is touched. */
export async function findLeftovers(folder: string, self: string): Promise<readonly Leftover[]> {
  const byInstance = Map.groupBy((await entriesOf(folder)) ?? [], (path) => instanceOf(basename(path)));
  const found: Leftover[] = [];
  for (const [instance, paths] of byInstance) {
    if (instance === undefined || instance === self) continue;
    const path = lockPath(folder, instance);
    const lock = await acquireLock(path);
    if (!lock.ok) continue;
    const segments = paths.filter((one) => one.endsWith(".jsonl"));
    found.push({ instance, wasKilled: paths.includes(path), segments, lock: lock.value });
  }
  return found;
}

/** INSTANCE.lock, INSTANCE.running, INSTANCE.NUMBER.jsonl */
const instanceOf = (name: string): string | undefined => /^([\w-]+)\.(?:lock|running|\d+\.jsonl)$/.exec(name)?.[1];
