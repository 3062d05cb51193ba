import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { messageOf } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";
import { readTextIfThere, writeFileAtomic } from "../platform/files.ts";
import type { Logger } from "../platform/logger.ts";
import { makePrivateFolder } from "../platform/subfolders.ts";
import { UsageJournal } from "../router/journal/usage-journal.ts";
import { Division } from "../router/keys/division.ts";
import { KeyBook } from "../router/keys/key-book.ts";
import { ShareBook } from "../router/keys/share-book.ts";
import type { SessionPart } from "../router/session-part.ts";

/** What the last records are given to reach the control plane when the router stops. */
const DRAIN: Millis = millis(2_000);

export interface RouterBooksOptions {
  /** Undefined: what is not sent yet is lost with the process. */
  readonly stateDir: string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What a router keeps of keys and requests, and tells the control plane. */
export interface RouterBooks {
  /** Of this process. */
  readonly instance: string;
  /** Router processes that have ended in the same folder. */
  readonly ended: readonly string[];
  readonly keys: KeyBook;
  readonly journal: UsageJournal;
  readonly parts: readonly SessionPart[];
  /** No more requests come: what is counted is told as far as somebody listens. Then the session may end. */
  drain(): Promise<void>;
  /** After the session: what was not taken stays on disk. */
  close(): Promise<void>;
}

export async function openRouterBooks({ stateDir, clock, logger }: RouterBooksOptions): Promise<RouterBooks> {
  const instance = randomUUID();
  const sharers = stateDir === undefined ? undefined : join(stateDir, "sharers");
  if (stateDir !== undefined) await makePrivateFolder(stateDir);
  const keys = new KeyBook(new Division(await readSharers(sharers)));
  const journal = await UsageJournal.open({
    folder: stateDir === undefined ? undefined : join(stateDir, "usage"),
    instance,
    clock,
    logger,
    onCounted: (spent) => {
      for (const { keyId, tokens, endedAt } of spent) keys.byId(keyId)?.use.budget.acknowledge(tokens, endedAt);
    },
  });
  const shares = new ShareBook(keys, clock, (routers) => {
    if (sharers !== undefined) void writeSharers(sharers, routers, logger);
  });
  return {
    instance,
    ended: journal.ended,
    keys,
    journal,
    parts: [journal, shares],
    async drain() {
      await journal.drain(DRAIN);
      await shares.leave(DRAIN);
    },
    async close() {
      shares.stop();
      await journal.close();
    },
  };
}

/** How many routers shared the limits when one was last here: what it may admit while no control plane is there to ask. */
async function readSharers(path: string | undefined): Promise<number | undefined> {
  const count = path === undefined ? Number.NaN : Number(await readTextIfThere(path));
  return Number.isSafeInteger(count) && count > 0 ? count : undefined;
}

async function writeSharers(path: string, routers: number, logger: Logger): Promise<void> {
  try {
    await writeFileAtomic(path, `${String(routers)}\n`, 0o600);
  } catch (error) {
    logger.warn({ reason: messageOf(error) }, "how many routers there are cannot be written to disk");
  }
}
