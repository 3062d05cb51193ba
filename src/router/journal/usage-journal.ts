import { messageOf } from "../../core/errors.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { UsageRecord } from "../../core/usage.ts";
import { AppendFile, removeFile } from "../../platform/append-file.ts";
import type { Clock } from "../../platform/clock.ts";
import { acquireLock, type Lock } from "../../platform/lock.ts";
import type { Logger } from "../../platform/logger.ts";
import { makePrivateFolder } from "../../platform/subfolders.ts";
import type { UsageSink } from "../account.ts";
import type { Heard, Said, SessionPart } from "../session-part.ts";
import { recoverRunning, RunningFile } from "./running-file.ts";
import { findLeftovers, type Leftover, lockPath } from "./leftovers.ts";
import { batchOf, bytesOf, type Chunk, chunksOf, pushRecord, recordsIn, type Spent } from "./chunk.ts";
import { readSegment, segmentPath } from "./segment.ts";

/** So much is lost at most when the process is killed, and the time of a sync. */
const FLUSH_EVERY: Millis = millis(250);
/** So many chunks are not waited with: those of a loaded router's quarter of a second hold up its event loop for 5 ms. */
const MANY = 3;
/** Records in memory that nobody takes; more are on disk alone. */
const MOST_IN_MEMORY = 4_000;
/** The same while a control plane takes them: reading them from disk again costs more than all else that is done for them. */
const MOST_BEHIND = 50_000;
/** The same where there is no disk. */
const MOST_WITHOUT_DISK = 100_000;
/** Of one file: it goes when all that is in it is counted. */
const LARGE = 4 * 1024 * 1024;

export interface UsageJournalOptions {
  /** Undefined: what was not sent yet is lost with the process. */
  readonly folder: string | undefined;
  /** Of this process; no other process ever has it. */
  readonly instance: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when records of this process are counted for good. */
  readonly onCounted: (spent: Iterable<Spent>) => void;
}

/** A part of a journal that nobody writes to any more. */
interface Closed {
  readonly instance: string;
  readonly path: string;
  /** After the last part of a leftover. */
  readonly done: (() => Promise<void>) | undefined;
}

/** A file of this process that is no longer written to. */
interface Full {
  readonly path: string;
  /** The number of its last record. */
  readonly last: number;
  /** The last look at what was running before it was full. */
  readonly look: number;
}

/**
 * Keeps records of requests until the control plane has them for good: first on disk, then on their way. What an ended
 * process has left in the folder is sent first. Sending twice does no harm: records have numbers.
 */
export class UsageJournal implements UsageSink, SessionPart {
  readonly #options: UsageJournalOptions;
  readonly #lock: Lock | undefined;
  /** Router processes that left something in the folder and have ended. */
  readonly ended: readonly string[];
  #number = 0;
  /** Not on disk yet. */
  #fresh: Chunk[] = [];
  /** On disk, and as far as one can tell not counted. */
  #ready: Chunk[] = [];
  readonly #closed: Closed[] = [];
  /** Of the first of `#closed`. */
  #loaded: Chunk[] | undefined;
  #isLoading = false;
  #outstanding: { readonly instance: string; readonly through: number } | undefined;
  #file: AppendFile | undefined;
  /** Files of records that are in memory too, or counted: each with its last record, and the last look before its end. */
  #full: Full[] = [];
  #counted = 0;
  /** Looks at what is running, and the last one that left a file of it. */
  #look = 0;
  #isRunningFileThere = false;
  #running: RunningFile | undefined;
  #writing: Promise<void> = Promise.resolve();
  #cancelFlush: (() => void) | undefined;
  #wake: (() => void) | undefined;
  #isOpen = false;
  #drained: (() => void) | undefined;
  /** Some of what is ready is in memory alone. */
  #hasFailed = false;

  private constructor(options: UsageJournalOptions, lock: Lock | undefined, leftovers: readonly Leftover[]) {
    this.#options = options;
    this.#lock = lock;
    this.ended = leftovers.map(({ instance }) => instance);
    for (const { instance, segments, lock: its } of leftovers) {
      for (const [at, path] of segments.entries()) {
        const done = at === segments.length - 1 ? () => its.release() : undefined;
        this.#closed.push({ instance, path, done });
      }
    }
  }

  /** Looks at what is left in the folder, and says what was lost. */
  static async open(options: UsageJournalOptions): Promise<UsageJournal> {
    const { folder, instance, logger } = options;
    if (folder === undefined) return new UsageJournal(options, undefined, []);
    await makePrivateFolder(folder);
    const lock = await acquireLock(lockPath(folder, instance));
    const leftovers = await findLeftovers(folder, instance);
    const recovered: Leftover[] = [];
    for (const leftover of leftovers) {
      const segments = await recover(leftover, folder, logger);
      recovered.push({ ...leftover, segments });
      if (segments.length === 0) await leftover.lock.release();
    }
    return new UsageJournal(options, lock.ok ? lock.value : undefined, recovered);
  }

  add(record: Omit<UsageRecord, "number">): void {
    this.#number += 1;
    const before = this.#fresh.length;
    pushRecord(this.#fresh, { ...record, number: this.#number });
    if (before < MANY && this.#fresh.length === MANY) void this.flush();
    this.#cancelFlush ??= this.#options.clock.after(FLUSH_EVERY, () => void this.flush());
  }

  /** Resolves when everything that was added is on disk. */
  flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const fresh = this.#fresh;
    if (fresh.length === 0) return;
    this.#fresh = [];
    await this.#append(fresh);
    this.#ready = this.#ready.length === 0 ? fresh : this.#ready.concat(fresh);
    if (recordsIn(this.#ready) > (this.#isOpen ? MOST_BEHIND : MOST_IN_MEMORY)) await this.#makeRoom();
    this.#wake?.();
  }

  async #append(chunks: readonly Chunk[]): Promise<void> {
    const { folder, logger } = this.#options;
    if (folder === undefined) return;
    const last = chunks.at(-1)?.last ?? 0;
    try {
      if ((await this.#toFile(folder, chunks)) > LARGE) await this.#setAside(last);
    } catch (error) {
      if (!this.#hasFailed) logger.error({ reason: messageOf(error), folder }, "usage cannot be written to disk");
      this.#hasFailed = true;
      // A line may be there in part: the next one must not be written behind it.
      await this.#setAside(last);
    }
  }

  /** Answers how large the file is then. */
  async #toFile(folder: string, chunks: readonly Chunk[]): Promise<number> {
    this.#file ??= await AppendFile.create(segmentPath(folder, this.#options.instance, chunks[0]?.first ?? 0));
    await this.#file.append(bytesOf(chunks));
    return this.#file.size;
  }

  async #setAside(last: number): Promise<void> {
    if (this.#file === undefined) return;
    this.#full.push({ path: this.#file.path, last, look: this.#look });
    await this.#closeFile();
  }

  /** The control plane is away: what is on disk need not be in memory too. */
  async #makeRoom(): Promise<void> {
    const { instance, logger } = this.#options;
    const isOnDisk = this.#options.folder !== undefined && !this.#hasFailed;
    if (isOnDisk && this.#outstanding?.instance !== instance) {
      await this.#setAside(this.#ready.at(-1)?.last ?? 0);
      for (const { path } of this.#full) this.#closed.push({ instance, path, done: undefined });
      this.#full = [];
      release(this.#ready);
      this.#ready = [];
    } else if (recordsIn(this.#ready) > MOST_WITHOUT_DISK) {
      const lost = this.#ready.splice(0, Math.ceil(this.#ready.length / 10));
      release(lost);
      logger.error(
        { lost: recordsIn(lost) },
        "records of requests are lost: nobody has taken them and there is no room for more",
      );
    }
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close();
  }

  opened(wake: () => void): void {
    this.#isOpen = true;
    this.#wake = wake;
    this.#outstanding = undefined;
  }

  next(): Said | undefined {
    if (this.#outstanding !== undefined) return undefined;
    const [closed] = this.#closed;
    if (closed !== undefined && this.#loaded === undefined) {
      void this.#load(closed);
      return undefined;
    }
    const batch = batchOf(this.#loaded ?? this.#ready);
    const last = batch.at(-1);
    if (last === undefined) return undefined;
    const instance = closed?.instance ?? this.#options.instance;
    this.#outstanding = { instance, through: last.last };
    const lines = bytesOf(batch).subarray(0, -1).toString("latin1");
    return { case: "usage", value: { instance, lines } };
  }

  async #load(closed: Closed): Promise<void> {
    if (this.#isLoading) return;
    this.#isLoading = true;
    try {
      const { entries } = await readSegment(closed.path);
      this.#loaded = chunksOf(entries);
      if (entries.length === 0) await this.#finish();
    } catch (error) {
      this.#options.logger.error(
        { reason: messageOf(error), path: closed.path },
        "a part of the usage journal is unreadable",
      );
      this.#closed.shift();
    } finally {
      this.#isLoading = false;
    }
    this.#wake?.();
  }

  /** The first of the closed parts is counted for good. */
  async #finish(): Promise<void> {
    const closed = this.#closed.shift();
    this.#loaded = undefined;
    if (closed === undefined) return;
    await removeFile(closed.path).catch(() => undefined);
    await closed.done?.();
  }

  heard(body: Heard): void {
    if (body.case !== "usageAck" || this.#outstanding?.instance !== body.value.instance) return;
    const { instance } = this.#outstanding;
    this.#outstanding = undefined;
    const through = Number(body.value.through);
    const waiting = this.#loaded ?? this.#ready;
    const end = waiting.findLastIndex(({ last }) => last <= through) + 1;
    if (end === 0) return;
    const counted = waiting.slice(0, end);
    release(counted);
    if (instance === this.#options.instance) this.#options.onCounted(counted.flatMap((chunk) => [...chunk.spent()]));
    if (this.#loaded === undefined) this.#ready = waiting.slice(end);
    else this.#loaded = waiting.slice(end);
    void this.#afterCount(instance, through).then(() => this.#wake?.());
  }

  async #afterCount(instance: string, through: number): Promise<void> {
    if (this.#loaded?.length === 0) await this.#finish();
    if (instance === this.#options.instance) {
      this.#counted = through;
      await this.#removeCounted();
    }
    if (!this.#isEmpty) return;
    this.#hasFailed = false;
    this.#drained?.();
  }

  /** A file goes when it says no more of any request than what is counted and what the file of running ones leaves out. */
  async #removeCounted(): Promise<void> {
    const isDone = ({ last, look }: Full): boolean =>
      last <= this.#counted && (!this.#isRunningFileThere || look < this.#look);
    const done = this.#full.filter(isDone);
    this.#full = this.#full.filter((one) => !isDone(one));
    for (const { path } of done) await removeFile(path).catch(() => undefined);
  }

  /** From now on what is running is on disk too. */
  watch(running: () => readonly Omit<UsageRecord, "number">[]): void {
    const { folder, instance, clock, logger } = this.#options;
    if (folder === undefined) return;
    const onWritten = (isThere: boolean): void => {
      this.#look += 1;
      this.#isRunningFileThere = isThere;
      void this.#removeCounted();
    };
    this.#running = new RunningFile({ folder, instance, clock, logger, running, onWritten });
  }

  get #isEmpty(): boolean {
    return this.#fresh.length === 0 && this.#ready.length === 0 && this.#closed.length === 0;
  }

  closed(): void {
    this.#isOpen = false;
    this.#outstanding = undefined;
    this.#wake = undefined;
    this.#drained?.();
  }

  /** Resolves when everything is counted for good, when the control plane is away, or after the time. */
  async drain(time: Millis): Promise<void> {
    await this.flush();
    if (this.#isEmpty || !this.#isOpen) return;
    await new Promise<void>((resolve) => {
      const cancel = this.#options.clock.after(time, resolve);
      this.#drained = () => {
        cancel();
        resolve();
      };
    });
  }

  /** What is not counted yet stays on disk for the next process. */
  async close(): Promise<void> {
    await this.flush();
    await this.#running?.stop();
    const path = this.#file?.path;
    await this.#closeFile();
    if (this.#isEmpty) for (const { path: full } of this.#full) await removeFile(full);
    if (path !== undefined && this.#isEmpty) await removeFile(path);
    for (const { done } of this.#closed) await done?.();
    await this.#lock?.release();
  }
}

function release(chunks: readonly Chunk[]): void {
  for (const chunk of chunks) chunk.release();
}

/** Reads what an ended process left, says what was lost, and answers the parts that are to be sent. */
async function recover(
  { instance, wasKilled, segments }: Leftover,
  folder: string,
  logger: Logger,
): Promise<readonly string[]> {
  const parts = await Promise.all(segments.map(readSegment));
  const entries = parts.flatMap((part) => part.entries);
  const bad = parts.reduce((sum, part) => sum + part.bad, 0);
  const cut = await recoverRunning(folder, instance, entries);
  const records = entries.length;
  const running = cut?.requests ?? 0;
  if (bad > 0) {
    logger.warn(
      { instance, lines: bad },
      "the usage journal of an earlier router process has lines that are cut off; they are dropped",
    );
  }
  if (wasKilled) {
    logger.warn(
      { instance, records, running },
      "the router process before this one ended without warning: what ended in its last second may be missing from the usage; what its journal holds is counted now",
    );
  } else if (records > 0) logger.info({ instance, records }, "usage of an earlier router process is counted now");
  return cut === undefined ? segments : [...segments.filter((path) => path !== cut.path), cut.path];
}
