import { millis } from "../core/ids.ts";
import type { Result } from "../core/result.ts";
import type { Clock } from "../platform/clock.ts";
import { fileStamp } from "../platform/folders.ts";
import type { Logger } from "../platform/logger.ts";
import { ownTrouble, readTlsFiles, type TlsFiles, type TlsTexts } from "./material.ts";

/** A revocation has to act within seconds. Four looks at file dates a second cost nothing. */
const LOOK_EVERY = millis(1000);

export interface Following {
  readonly files: TlsFiles;
  /** Their key in the configuration, for messages. */
  readonly where: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The content of certificate files that may be replaced at any time: what was good stays in force until what is new is good. */
export class FollowedTls {
  readonly #following: Following;
  readonly #listeners: ((texts: TlsTexts) => void)[] = [];
  #current: TlsTexts;
  #applied: string;
  #seen: string;
  #cancel: () => void = () => undefined;
  #isClosed = false;

  private constructor(following: Following, current: TlsTexts, stamps: string) {
    this.#following = following;
    this.#current = current;
    this.#applied = stamps;
    this.#seen = stamps;
  }

  /** The error holds every problem, each a whole sentence. */
  static async open(following: Following): Promise<Result<FollowedTls, readonly string[]>> {
    const stamps = await stampsOf(following.files);
    const read = await readTlsFiles(following.files, `${following.where}.`);
    if (!read.ok) return read;
    const followed = new FollowedTls(following, read.value, stamps);
    followed.#warn();
    followed.#lookLater();
    return { ok: true, value: followed };
  }

  get current(): TlsTexts {
    return this.#current;
  }

  /** Called each time that new files are in force. */
  onChange(listener: (texts: TlsTexts) => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
  }

  /** Reads the files now, changed or not. */
  async reload(): Promise<void> {
    const { files, where, logger } = this.#following;
    this.#applied = await stampsOf(files);
    this.#seen = this.#applied;
    const read = await readTlsFiles(files, `${where}.`);
    if (!read.ok) {
      logger.error(`new certificates cannot be used, the ones before stay in force:\n${read.error.join("\n")}`);
      return;
    }
    this.#take(read.value);
  }

  #take(texts: TlsTexts): void {
    const { files, where, logger } = this.#following;
    const isListGone = texts.crl === undefined && this.#current.crl !== undefined;
    if (isListGone) {
      logger.error(`${where}.crl: ${files.crl ?? ""} is gone; what it revoked stays revoked until a restart`);
    }
    const next = isListGone ? { ...texts, revoked: this.#current.revoked, crl: this.#current.crl } : texts;
    const changed = PARTS.filter((part) => next[part] !== this.#current[part]);
    if (changed.length === 0) return;
    this.#current = next;
    logger.info(`${where}: what is new is in force: ${changed.join(", ")}`);
    this.#warn();
    for (const listener of this.#listeners) listener(next);
  }

  #warn(): void {
    const { clock, logger } = this.#following;
    const trouble = ownTrouble(this.#current, clock.now());
    if (trouble !== undefined) logger.warn(trouble);
  }

  #lookLater(): void {
    if (this.#isClosed) return;
    this.#cancel = this.#following.clock.after(LOOK_EVERY, () => {
      void this.#look().finally(() => {
        this.#lookLater();
      });
    });
  }

  /** Files that were the same at two looks are whole: a key is seldom written in the same moment as its certificate. */
  async #look(): Promise<void> {
    const stamps = await stampsOf(this.#following.files);
    const isSettled = stamps === this.#seen;
    this.#seen = stamps;
    if (isSettled && stamps !== this.#applied) await this.reload();
  }
}

const PARTS = ["ca", "cert", "key", "crl"] as const;

async function stampsOf({ ca, cert, key, crl }: TlsFiles): Promise<string> {
  const paths = [ca, cert, key, crl].filter((path) => path !== undefined);
  const stamps = await Promise.all(paths.map(fileStamp));
  return stamps.map((stamp) => stamp ?? "none").join(" ");
}
