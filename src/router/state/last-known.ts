import { create } from "@bufbuild/protobuf";
import { messageOf } from "../../core/errors.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import { setAside } from "../../platform/subfolders.ts";
import { type KeyTotal, KeyTotalsSchema } from "../../wire/gen/llmgw/v1/usage_pb.js";
import type { Heard, Said, SessionPart } from "../session-part.ts";
import { type Known, NOTHING_KNOWN, readKnown, writeKnown } from "./known-file.ts";

/** Changes seldom come alone. */
const WRITE_AFTER: Millis = millis(200);
/** What is counted, and that a control plane is there, change all the time: a kill makes them so much older at most. */
const WRITE_EVERY: Millis = millis(30_000);

export interface LastKnownOptions {
  readonly path: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** False: another process of the same router writes the file. */
  readonly writes: boolean;
}

/** Listens to what control planes say, and keeps it on disk for a start without any of them. */
export class LastKnown implements SessionPart {
  readonly #options: LastKnownOptions;
  #known: Known;
  readonly #totals: Map<string, KeyTotal>;
  #isConnected = false;
  #due: { readonly at: Millis; readonly cancel: () => void } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #hasFailed = false;

  private constructor(options: LastKnownOptions, known: Known) {
    this.#options = options;
    this.#known = known;
    this.#totals = new Map(known.totals.totals.map((total) => [total.keyId, total]));
  }

  /** Reads what is there. A file that cannot be understood is moved aside, and the router starts as a new one. */
  static async open(options: LastKnownOptions): Promise<LastKnown> {
    const { path, logger } = options;
    try {
      return new LastKnown(options, (await readKnown(path)) ?? NOTHING_KNOWN);
    } catch (error) {
      const aside = await setAside(path).catch(() => path);
      logger.error(
        { reason: messageOf(error), path: aside },
        "the last known routes and keys cannot be read: the router waits for a control plane",
      );
      return new LastKnown(options, NOTHING_KNOWN);
    }
  }

  get known(): Known {
    return this.#known;
  }

  /** How long no control plane has been heard; undefined: one is connected, or none ever was. */
  away(): Millis | undefined {
    const { heardAt } = this.#known;
    if (this.#isConnected || heardAt === 0) return undefined;
    return millis(Math.max(0, this.#options.clock.now() - heardAt));
  }

  opened(): void {
    // Whether anybody answers shows with the first word.
  }

  next(): Said | undefined {
    return undefined;
  }

  heard(body: Heard): void {
    this.#isConnected = true;
    if (body.case === "table") this.#take({ table: body.value });
    else if (body.case === "keys") this.#take({ keys: body.value });
    else if (body.case === "totals" || body.case === "usageAck") {
      for (const total of body.value.totals) this.#totals.set(total.keyId, total);
    }
    this.#writeIn(WRITE_EVERY);
  }

  #take(news: Partial<Known>): void {
    this.#known = { ...this.#known, ...news };
    this.#writeIn(WRITE_AFTER);
  }

  closed(): void {
    if (!this.#isConnected) return;
    this.#see();
    this.#isConnected = false;
    this.#writeIn(WRITE_AFTER);
  }

  /** Writes what has not been written. */
  async stop(): Promise<void> {
    this.#due?.cancel();
    if (this.#due !== undefined) await this.#write();
    this.#due = undefined;
    await this.#writing;
  }

  #see(): void {
    this.#known = { ...this.#known, heardAt: millis(Math.round(this.#options.clock.now())) };
  }

  #writeIn(delay: Millis): void {
    const { clock, writes } = this.#options;
    const at = millis(clock.monotonic() + delay);
    if (!writes || (this.#due !== undefined && this.#due.at <= at)) return;
    this.#due?.cancel();
    const cancel = clock.after(delay, () => {
      this.#due = undefined;
      void this.#write();
      if (this.#isConnected) this.#writeIn(WRITE_EVERY);
    });
    this.#due = { at, cancel };
  }

  #write(): Promise<void> {
    if (this.#isConnected) this.#see();
    const totals = create(KeyTotalsSchema, { totals: [...this.#totals.values()] });
    const known = { ...this.#known, totals };
    this.#writing = this.#writing.then(() => this.#toDisk(known));
    return this.#writing;
  }

  async #toDisk(known: Known): Promise<void> {
    const { path, logger } = this.#options;
    try {
      await writeKnown(path, known);
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) {
        logger.error(
          { reason: messageOf(error), path },
          "routes and keys cannot be written to disk: without a control plane the router could not start again",
        );
      }
      this.#hasFailed = true;
    }
  }
}
