import { messageOf } from "../../core/errors.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { dayOf, firstDayOf, type KeyTotal, monthOf } from "../../core/usage.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import type { UsageStore } from "../../store/usage.ts";
import type { RouterSessionRequest } from "../../wire/gen/llmgw/v1/router_pb.js";
import type { UsageBatch } from "../../wire/gen/llmgw/v1/usage_pb.js";
import { recordOfLine } from "../../wire/usage-line.ts";
import { totalToWire } from "../../wire/usage.ts";
import type { RouterLine, RouterPart } from "../sessions/router-part.ts";

/** Totals that have changed are told to all routers so often. */
const TELL_EVERY: Millis = millis(1_000);
const PRUNE_EVERY: Millis = millis(3_600_000);

export interface UsageDeskOptions {
  readonly store: UsageStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long days are kept. Those of this month are kept in any case: budgets count them. */
  readonly retain: Millis;
}

/**
 * Takes records from routers into the store, says when they are there for good, and tells every router what has been counted
 * under each key, so that budgets hold over all of them.
 */
export class UsageDesk implements RouterPart {
  readonly #options: UsageDeskOptions;
  readonly #lines = new Set<RouterLine>();
  readonly #totals: Map<string, KeyTotal>;
  readonly #changed = new Set<string>();
  #adding: Promise<void> = Promise.resolve();
  #cancelTell: (() => void) | undefined;
  #prunedAt = millis(Number.NEGATIVE_INFINITY);

  private constructor(options: UsageDeskOptions, totals: readonly KeyTotal[]) {
    this.#options = options;
    this.#totals = new Map(totals.map((total) => [total.keyId, total]));
  }

  static async start(options: UsageDeskOptions): Promise<UsageDesk> {
    return new UsageDesk(options, await options.store.totals(dayOf(options.clock.now())));
  }

  /** What has been used under a key today and this month. */
  total(keyId: string, now: Millis): Pick<KeyTotal, "dayTokens" | "monthTokens"> {
    const total = this.#totals.get(keyId);
    return {
      dayTokens: total?.day === dayOf(now) ? total.dayTokens : 0,
      monthTokens: total?.month === monthOf(now) ? total.monthTokens : 0,
    };
  }

  opened(line: RouterLine): void {
    this.#lines.add(line);
    const totals = [...this.#totals.values()].map(totalToWire);
    if (totals.length > 0) line.say({ case: "totals", value: { totals } });
  }

  heard(line: RouterLine, body: RouterSessionRequest["body"]): void {
    if (body.case !== "usage") return;
    const batch = body.value;
    this.#adding = this.#adding.then(() => this.#add(line, batch));
  }

  closed(line: RouterLine): void {
    this.#lines.delete(line);
    if (this.#lines.size > 0) return;
    this.#cancelTell?.();
    this.#cancelTell = undefined;
  }

  keysChanged(): void {
    // A key's counts are its own, whatever becomes of the key.
  }

  /** Resolves when everything that was heard is in the store, or is not going to be. */
  settled(): Promise<void> {
    return this.#adding;
  }

  async #add(line: RouterLine, { instance, lines }: UsageBatch): Promise<void> {
    const { store, clock, logger } = this.#options;
    const now = clock.now();
    const records = lines.split("\n").flatMap((text) => recordOfLine(text) ?? []);
    try {
      const { through, totals } = await store.add({ instance, records: records.map((one) => notAfter(one, now)) }, now);
      for (const total of totals) this.#note(total);
      const ack = { instance, through: BigInt(through), totals: totals.map(totalToWire) };
      line.say({ case: "usageAck", value: ack });
      await this.#prune(now);
    } catch (error) {
      logger.error(
        { reason: messageOf(error), router: line.id },
        "usage cannot be stored; the router will send it again",
      );
      line.fail("the control plane cannot store usage at the moment");
    }
  }

  #note(total: KeyTotal): void {
    const before = this.#totals.get(total.keyId);
    // A batch of yesterday that comes late must not bring yesterday back.
    if (before !== undefined && before.day > total.day) return;
    this.#totals.set(total.keyId, total);
    this.#changed.add(total.keyId);
    if (this.#lines.size > 0) {
      this.#cancelTell ??= this.#options.clock.after(TELL_EVERY, () => {
        this.#tell();
      });
    }
  }

  #tell(): void {
    this.#cancelTell = undefined;
    const totals = [...this.#changed].flatMap((keyId) => this.#totals.get(keyId) ?? []).map(totalToWire);
    this.#changed.clear();
    for (const line of this.#lines) line.say({ case: "totals", value: { totals } });
  }

  async #prune(now: Millis): Promise<void> {
    const { store, clock, retain } = this.#options;
    if (clock.monotonic() - this.#prunedAt < PRUNE_EVERY) return;
    this.#prunedAt = clock.monotonic();
    await store.prune(Math.min(dayOf(millis(now - retain)), firstDayOf(monthOf(now))), now);
  }
}

/** A router whose clock is wrong must not count into days that are still to come. */
const notAfter = <T extends { readonly endedAt: Millis }>(record: T, now: Millis): T =>
  dayOf(record.endedAt) > dayOf(now) ? { ...record, endedAt: now } : record;
