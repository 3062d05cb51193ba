import { messageOf } from "../../core/errors.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import { ShareLedger } from "../../routing/limits/share-ledger.ts";
import type { StoredKey } from "../../store/store.ts";
import type { UsageStore } from "../../store/usage.ts";
import type { RouterHello, RouterSessionRequest } from "../../wire/gen/llmgw/v1/router_pb.js";
import { demandFromWire, sharesToWire } from "../../wire/shares.ts";
import type { RouterLine, RouterPart } from "../sessions/router-part.ts";

/** So long a router goes on with its shares while it hears nothing. */
const LEASE: Millis = millis(60_000);
/** Between the end of a lease here and there: messages on their way, and a stream whose end is noticed late. */
const MARGIN: Millis = millis(10_000);
const FORGET: Millis = millis(3_600_000);
const PACE: Millis = millis(25);
const ASK: Millis = millis(100);
const TICK: Millis = millis(1_000);
/** That a router is here is written down so often: a control plane that is started again must know whom to wait for. */
const NOTE_EVERY: Millis = millis(600_000);

interface ShareDeskOptions {
  readonly store: UsageStore;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Divides the limits of keys among the routers that are connected. */
export class ShareDesk implements RouterPart {
  readonly #options: ShareDeskOptions;
  readonly #ledger = new ShareLedger({ lease: LEASE, margin: MARGIN, forget: FORGET, pace: PACE, ask: ASK });
  readonly #lines = new Map<string, RouterLine>();
  readonly #notedAt = new Map<string, Millis>();
  #cancelTick: (() => void) | undefined;
  #noting: Promise<void> = Promise.resolve();

  private constructor(options: ShareDeskOptions) {
    this.#options = options;
  }

  static async start(options: ShareDeskOptions): Promise<ShareDesk> {
    const desk = new ShareDesk(options);
    const { store, clock } = options;
    desk.#ledger.expect(await store.routers(millis(clock.now() - FORGET)), clock.monotonic());
    return desk;
  }

  keysChanged(keys: readonly StoredKey[]): void {
    const inForce = keys.filter(({ revokedAt }) => revokedAt === undefined);
    this.#ledger.setKeys(inForce.map(({ id, limits }) => [id, limits]));
    this.#divide();
  }

  opened(line: RouterLine, { ended }: RouterHello): void {
    for (const id of ended) this.#end(id);
    this.#lines.set(line.id, line);
    this.#ledger.join(line.id);
    this.#note(line.id, "here");
    this.#divide();
  }

  heard(line: RouterLine, body: RouterSessionRequest["body"]): void {
    if (body.case !== "demand") return;
    const { revision, keys, leaving } = demandFromWire(body.value);
    if (leaving) this.#end(line.id);
    else this.#ledger.hear(line.id, revision, keys);
    this.#divide();
  }

  closed(line: RouterLine): void {
    if (this.#lines.get(line.id) !== line) return;
    this.#lines.delete(line.id);
    this.#notedAt.delete(line.id);
    this.#ledger.lose(line.id, this.#options.clock.monotonic());
    this.#divide();
  }

  #end(id: string): void {
    this.#ledger.end(id, this.#options.clock.monotonic());
    this.#note(id, "ended");
  }

  #note(id: string, state: "here" | "ended"): void {
    const { store, clock, logger } = this.#options;
    if (state === "here") this.#notedAt.set(id, clock.monotonic());
    else this.#notedAt.delete(id);
    const noted = store.noteRouter(id, state, clock.now()).catch((error: unknown) => {
      logger.warn({ reason: messageOf(error), router: id }, "it cannot be written down which routers are here");
    });
    this.#noting = this.#noting.then(() => noted);
  }

  /** Resolves when everything that is to be written down is. */
  settled(): Promise<void> {
    return this.#noting;
  }

  #divide(): void {
    this.#cancelTick?.();
    this.#cancelTick = undefined;
    const { clock } = this.#options;
    const hasMore = this.#ledger.divide(clock.monotonic());
    for (const [id, line] of this.#lines) this.#tell(id, line);
    if (this.#lines.size === 0) return;
    this.#cancelTick = clock.after(hasMore ? PACE : TICK, () => {
      this.#noteAgain();
      this.#divide();
    });
  }

  #tell(id: string, line: RouterLine): void {
    const news = this.#ledger.take(id);
    if (news === undefined) return;
    const keys = news.keys.map(([keyId, shares]) => sharesToWire(keyId, shares));
    line.say({ case: "shares", value: { revision: news.revision, routers: news.sharers, leaseMs: LEASE, keys } });
  }

  #noteAgain(): void {
    const now = this.#options.clock.monotonic();
    for (const [id, at] of this.#notedAt) if (now - at >= NOTE_EVERY) this.#note(id, "here");
  }
}
