import { join } from "node:path";
import { messageOf } from "../../core/errors.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { UsageRecord } from "../../core/usage.ts";
import { AppendFile, readAppended, removeFile } from "../../platform/append-file.ts";
import type { Clock } from "../../platform/clock.ts";
import { writeFileAtomic } from "../../platform/files.ts";
import type { Logger } from "../../platform/logger.ts";
import { lineOf, recordOfLine } from "../../wire/usage-line.ts";
import { type Entry, segmentPath } from "./segment.ts";

const WRITE_EVERY: Millis = millis(1_000);
/** Shorter requests are within the second that a kill may lose. */
const LONG = 1_000;
/** Records that are made of what was running have numbers above all others of their process. */
const RECOVERED_FROM = 2 ** 40;

const runningPath = (folder: string, instance: string): string => join(folder, `${instance}.running`);

interface RunningFileOptions {
  readonly folder: string;
  readonly instance: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What is known of each request that an engine works on. */
  readonly running: () => readonly Omit<UsageRecord, "number">[];
  /** Called after each look. `isThere`: some of what the file says may have ended since. */
  readonly onWritten: (isThere: boolean) => void;
}

/**
 * Once a second, what has come so far of requests that take long: a stream of minutes is on disk before it ends, so that a
 * kill makes it end with what it had and not as if it had never been.
 */
export class RunningFile {
  readonly #options: RunningFileOptions;
  readonly #path: string;
  #isThere = false;
  #isStopped = false;
  #writing: Promise<void> = Promise.resolve();
  #cancel: () => void = () => undefined;

  constructor(options: RunningFileOptions) {
    this.#options = options;
    this.#path = runningPath(options.folder, options.instance);
    this.#later();
  }

  #later(): void {
    this.#cancel = this.#options.clock.after(WRITE_EVERY, () => {
      this.#writing = this.#look().finally(() => {
        if (!this.#isStopped) this.#later();
      });
    });
  }

  async #look(): Promise<void> {
    const { running, logger, onWritten } = this.#options;
    const long = running().filter(({ duration }) => duration >= LONG);
    try {
      if (long.length > 0) await writeFileAtomic(this.#path, textOf(long), 0o600);
      else if (this.#isThere) await removeFile(this.#path);
      this.#isThere = long.length > 0;
      onWritten(this.#isThere);
    } catch (error) {
      logger.error({ reason: messageOf(error) }, "what runs cannot be written to disk");
    }
  }

  /** Everything has ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#writing;
    await removeFile(this.#path);
  }
}

const textOf = (records: readonly Omit<UsageRecord, "number">[]): string =>
  records.map((record) => `${lineOf({ ...record, number: RECOVERED_FROM + record.opened })}\n`).join("");

/**
 * Makes a part of the journal of what was running when a process was killed and has not ended before that. Answers its path
 * and how many requests they were; undefined: there were none. Done twice it gives the same records.
 */
export async function recoverRunning(
  folder: string,
  instance: string,
  ended: readonly Entry[],
): Promise<{ readonly path: string; readonly requests: number } | undefined> {
  const path = runningPath(folder, instance);
  const { lines } = (await readAppended(path)) ?? { lines: [] };
  const over = new Set(ended.map(({ opened }) => opened));
  const cut = lines
    .flatMap((line) => recordOfLine(line) ?? [])
    .filter(({ opened }) => !over.has(opened))
    .toSorted((a, b) => a.number - b.number);
  const [first] = cut;
  if (first === undefined) {
    await removeFile(path);
    return undefined;
  }
  const target = segmentPath(folder, instance, RECOVERED_FROM);
  await removeFile(target);
  const file = await AppendFile.create(target);
  await file.append(Buffer.from(cut.map((record) => `${lineOf(record)}\n`).join("")));
  await file.close();
  await removeFile(path);
  return { path: target, requests: cut.length };
}
