import { messageOf } from "../../../core/errors.ts";
import { type Millis, millis } from "../../../core/ids.ts";
import type { SharedFile } from "../../../core/sharing.ts";
import { type Clock, pause } from "../../../platform/clock.ts";
import { readTextIfThere, writeFileAtomic } from "../../../platform/files.ts";
import type { Logger } from "../../../platform/logger.ts";
import type { RecordBook } from "../folder.ts";
import type { RecordedModel } from "../record.ts";
import { type Checked, checkFile } from "./check-file.ts";
import { dropAside, modelsWith, putAside } from "./quarantine.ts";
import {
  emptyScrub,
  formatScrub,
  nextDue,
  parseScrub,
  type ScrubDue,
  type ScrubState,
  withHeldFiles,
} from "./scrub-state.ts";

export interface ScrubOptions {
  /** The weights folder. */
  readonly dir: string;
  readonly records: RecordBook;
  /** Where it is remembered how far it came. */
  readonly stateFile: string;
  readonly held: () => Promise<readonly SharedFile[]>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A file was found wrong and put aside. */
  readonly onWrong: (key: string) => void;
  /** Fetches the model again. Resolves whether it is whole. */
  readonly refetch: (model: RecordedModel, signal: AbortSignal) => Promise<boolean>;
  /** What holds of the node has changed. */
  readonly onChange: () => void;
  /** Default 8 MiB a second: an engine that loads beside it hardly notices. */
  readonly bytesPerSecond?: number;
  /** How often each file is read. Default a week. */
  readonly every?: Millis;
}

const USUAL_SPEED = 8 * 1024 * 1024;
/** Somebody waits for the answer when a file is suspected. */
const SUSPECT_SPEED = 256 * 1024 * 1024;
const USUAL_EVERY: Millis = millis(7 * 86_400_000);
const LOOK_EVERY = millis(60_000);
/** Pieces after which the state is written down: what a restart may read again. */
const SAVE_EVERY = 16;
/** A file that was suspected is looked at so often at most. */
const SUSPECT_AGAIN = millis(5 * 60_000);
/** First wait after a refetch that failed; it doubles. */
const REFETCH_AGAIN = millis(60_000);
const REFETCH_AT_LEAST = millis(15 * 60_000);

/** Reads what this node holds again and again, slowly, and puts aside what is no longer as it was fetched. */
export class Scrub {
  readonly #options: ScrubOptions;
  readonly #suspects = new Set<string>();
  readonly #suspectedAt = new Map<string, Millis>();
  #state: ScrubState = emptyScrub;
  #saved = "";
  /** One writing after the other. */
  #saving: Promise<void> = Promise.resolve();
  /** What is being fetched again. */
  readonly #refetches = new Set<Promise<void>>();
  #wake = new AbortController();

  constructor(options: ScrubOptions) {
    this.#options = options;
  }

  /** What is wrong with this node by it, in sentences. */
  get problems(): readonly string[] {
    return this.#state.wrong.map((key) => `${key} had wrong bytes on the disk; it was put aside and is fetched again`);
  }

  /** These are looked at now. */
  suspect(keys: readonly string[]): void {
    const now = this.#options.clock.monotonic();
    const news = keys.filter((key) => {
      const last = this.#suspectedAt.get(key);
      return last === undefined || now - last >= SUSPECT_AGAIN;
    });
    for (const key of news) {
      this.#suspectedAt.set(key, now);
      this.#suspects.add(key);
    }
    if (news.length > 0) this.#wake.abort();
  }

  /** Resolves when the signal has aborted and nothing of this writes any more. */
  async run(signal: AbortSignal): Promise<void> {
    const { stateFile, clock, logger } = this.#options;
    // A node that has nothing to check writes nothing.
    this.#saved = (await readTextIfThere(stateFile).catch(() => undefined)) ?? formatScrub(emptyScrub);
    this.#state = parseScrub(this.#saved);
    for (const key of this.#state.wrong) this.#startRefetch(key, signal);
    while (!signal.aborted) {
      this.#wake = new AbortController();
      try {
        if (await this.#step(signal)) continue;
      } catch (error) {
        logger.error(`files cannot be checked: ${messageOf(error)}`);
      }
      await pause(clock, LOOK_EVERY, AbortSignal.any([signal, this.#wake.signal]));
    }
    await Promise.all(this.#refetches);
    await this.#saving.catch(() => undefined);
  }

  /** False: there is nothing to do now. */
  async #step(signal: AbortSignal): Promise<boolean> {
    const { clock, every = USUAL_EVERY, held: look } = this.#options;
    const held = await look();
    const [suspect] = this.#suspects;
    if (suspect !== undefined) {
      this.#suspects.delete(suspect);
      const file = held.find(({ key }) => key === suspect);
      if (file !== undefined) await this.#check({ file, piece: 0 }, { signal, isSuspect: true });
      return true;
    }
    this.#state = withHeldFiles(this.#state, held, clock.now());
    const due = nextDue(this.#state, held, { now: clock.now(), every });
    if (due === undefined) {
      await this.#save();
      return false;
    }
    await this.#check(due, { signal, isSuspect: false });
    return true;
  }

  async #check(due: ScrubDue, { signal, isSuspect }: { readonly signal: AbortSignal; readonly isSuspect: boolean }) {
    const { dir, clock, bytesPerSecond = USUAL_SPEED } = this.#options;
    const { key, sha256 } = due.file;
    // A slow reading gives way to one that somebody waits for, and goes on later.
    const halt = isSuspect ? signal : AbortSignal.any([signal, this.#wake.signal]);
    const checked = await checkFile(due, {
      ...{ dir, clock, signal: halt },
      bytesPerSecond: isSuspect ? Math.max(SUSPECT_SPEED, bytesPerSecond) : bytesPerSecond,
      onPiece: (piece) => {
        if (isSuspect) return;
        this.#state = { ...this.#state, current: { key, sha256, piece } };
        if (piece % SAVE_EVERY === 0) void this.#save().catch(() => undefined);
      },
    });
    await this.#judge(key, checked, signal);
  }

  async #judge(key: string, checked: Checked, signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    if (checked !== "stopped") {
      const others = Object.fromEntries(Object.entries(this.#state.checked).filter(([other]) => other !== key));
      const isOther = this.#state.current !== undefined && this.#state.current.key !== key;
      this.#state = {
        ...this.#state,
        checked: checked === "right" ? { ...others, [key]: clock.now() } : others,
        current: isOther ? this.#state.current : undefined,
      };
    }
    if (checked === "wrong") this.#state = { ...this.#state, wrong: [...new Set([...this.#state.wrong, key])] };
    await this.#save();
    if (checked !== "wrong") return;
    logger.error({ file: key }, `${key} has other bytes than were fetched: it is put aside and fetched again`);
    await putAside(this.#options, key);
    this.#options.onWrong(key);
    this.#options.onChange();
    this.#startRefetch(key, signal);
  }

  #startRefetch(key: string, signal: AbortSignal): void {
    const refetch = this.#refetch(key, signal).finally(() => this.#refetches.delete(refetch));
    this.#refetches.add(refetch);
  }

  /** Until the right file is here, or nothing wants it any more. */
  async #refetch(key: string, signal: AbortSignal): Promise<void> {
    const { clock, dir, refetch, logger } = this.#options;
    try {
      for (let wait = REFETCH_AGAIN; !signal.aborted; wait = millis(Math.min(REFETCH_AT_LEAST, wait * 2))) {
        const models = await modelsWith(this.#options, key);
        const whole = await Promise.all(models.map((model) => refetch(model, signal)));
        if (whole.every(Boolean)) break;
        await pause(clock, wait, signal);
      }
      if (signal.aborted) return;
      await dropAside(dir, key);
      this.#state = { ...this.#state, wrong: this.#state.wrong.filter((one) => one !== key) };
      await this.#save();
      this.#options.onChange();
      logger.info({ file: key }, `${key} is right again`);
    } catch (error) {
      logger.error({ file: key }, `${key} cannot be fetched again: ${messageOf(error)}`);
    }
  }

  async #save(): Promise<void> {
    this.#saving = this.#saving
      .catch(() => undefined)
      .then(async () => {
        const text = formatScrub(this.#state);
        if (text === this.#saved) return;
        await writeFileAtomic(this.#options.stateFile, text);
        this.#saved = text;
      });
    await this.#saving;
  }
}
