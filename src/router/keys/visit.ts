import type { SharedLimitName } from "../../core/client-key.ts";
import { type Millis, millis } from "../../core/ids.ts";
import type { Clock } from "../../platform/clock.ts";
import { decideLimits, type LimitDecision } from "../../routing/limits/decide.ts";
import { rateLimitHeaders } from "../../routing/limits/headers.ts";
import type { Moment } from "../../routing/limits/use.ts";
import type { Later } from "../refusals.ts";
import type { Caller } from "./caller.ts";
import type { KeyBook } from "./key-book.ts";
import { modelNotAllowed, overLimit } from "./refusals.ts";

/** What other routers do not use comes within two round trips of the control plane, or does not come. */
const SHARE_WAIT = 400;
/** After a wait in vain the next requests are refused at once for so long. */
const SHORT_FOR = 1_000;

/** One request under a key: what it may do, and the slot that it holds until its end. */
export interface Visit {
  /** The key's name, for the log; undefined: this router asks for no keys. */
  readonly key: string | undefined;
  readonly keyId: string | undefined;
  mayAsk(model: string): boolean;
  /** Why the model may not be asked for; undefined: it may. */
  forbids(model: string): Later | undefined;
  /** Whether a limit would refuse the request now, whatever other routers let go of; takes nothing. */
  peek(): Later | undefined;
  /** Takes a slot, or says which limit refuses it. A visit enters once. */
  enter(): Later | undefined;
  /**
   * After a refusal: calls back each time that this router may admit more, and once when the wait for that is over. Answers
   * what cancels it, or undefined where waiting is in vain.
   */
  waitForShare(wake: () => void): (() => void) | undefined;
  /** Gives the slot back, if one was taken, and charges what the request took. Only the first call counts. */
  leave(tokens: number): void;
  /** For the answer: names and values in turn. */
  headers(): readonly string[];
}

/** Where no keys are asked for. */
export const OPEN_VISIT: Visit = {
  key: undefined,
  keyId: undefined,
  mayAsk: () => true,
  forbids: () => undefined,
  peek: () => undefined,
  enter: () => undefined,
  waitForShare: () => undefined,
  leave: () => undefined,
  headers: () => [],
};

export class KeyVisit implements Visit {
  readonly #caller: Caller;
  readonly #book: KeyBook;
  readonly #clock: Clock;
  #isInside = false;
  #short: SharedLimitName | undefined;
  #waitsUntil: Millis | undefined;

  constructor(caller: Caller, book: KeyBook, clock: Clock) {
    this.#caller = caller;
    this.#book = book;
    this.#clock = clock;
  }

  get key(): string {
    return this.#caller.grant.name;
  }

  get keyId(): string {
    return this.#caller.grant.id;
  }

  mayAsk(model: string): boolean {
    return this.#caller.mayAsk(model);
  }

  forbids(model: string): Later | undefined {
    return this.#caller.mayAsk(model) ? undefined : modelNotAllowed(model);
  }

  peek(): Later | undefined {
    const decision = this.#decide(this.#now());
    return decision.kind === "refuse" && !decision.shared ? this.#refusal(decision) : undefined;
  }

  enter(): Later | undefined {
    const now = this.#now();
    const decision = this.#decide(now);
    if (decision.kind === "refuse") {
      if (decision.shared) this.#isShort(decision.limit as SharedLimitName);
      return this.#refusal(decision);
    }
    this.#caller.use.begin(now);
    this.#isInside = true;
    this.#demand(false);
    return undefined;
  }

  waitForShare(wake: () => void): (() => void) | undefined {
    const now = this.#clock.monotonic();
    if (this.#short === undefined || now < this.#caller.shortUntil) return undefined;
    this.#waitsUntil ??= millis(now + SHARE_WAIT);
    if (now >= this.#waitsUntil) {
      this.#caller.shortUntil = now + SHORT_FOR;
      return undefined;
    }
    const cancelTimer = this.#clock.after(millis(this.#waitsUntil - now), wake);
    const cancelWait = this.#caller.waitForShare(wake);
    if (cancelWait === undefined) cancelTimer();
    return cancelWait === undefined
      ? undefined
      : () => {
          cancelTimer();
          cancelWait();
        };
  }

  leave(tokens: number): void {
    if (!this.#isInside) return;
    this.#isInside = false;
    this.#caller.use.settle(tokens, this.#now());
    this.#demand(false);
  }

  headers(): readonly string[] {
    return rateLimitHeaders(this.#caller.allowance, this.#caller.use, this.#now());
  }

  #isShort(limit: SharedLimitName): void {
    if (this.#short === undefined) this.#caller.refused[limit] += 1;
    this.#short = limit;
    this.#demand(true);
  }

  #demand(isShort: boolean): void {
    if (!this.#caller.isActive || this.#caller.isToldFull || isShort) this.#book.onDemand?.(this.#caller, isShort);
  }

  #decide(now: Moment): LimitDecision {
    return decideLimits(this.#caller.use, this.#caller.allowance, now);
  }

  #refusal({ limit, wait }: LimitDecision & { readonly kind: "refuse" }): Later {
    return overLimit(this.#caller.grant, limit, wait);
  }

  #now(): Moment {
    return { wall: this.#clock.now(), monotonic: this.#clock.monotonic() };
  }
}
