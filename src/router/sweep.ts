import type { Millis } from "../core/ids.ts";
import type { Clock } from "../platform/clock.ts";

/** Something with deadlines. */
export interface Timed {
  /** Looks whether anything is overdue. May take itself out. */
  onTick(now: Millis): void;
}

/** One timer for the deadlines of all requests: a look at each now and then costs less than arming a timer for each. */
export class Sweep {
  readonly #clock: Clock;
  readonly #period: Millis;
  readonly #timed = new Set<Timed>();
  #cancel: (() => void) | undefined;

  constructor(clock: Clock, period: Millis) {
    this.#clock = clock;
    this.#period = period;
  }

  add(timed: Timed): void {
    this.#timed.add(timed);
    this.#cancel ??= this.#clock.after(this.#period, this.#tick);
  }

  delete(timed: Timed): void {
    this.#timed.delete(timed);
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    this.#timed.clear();
  }

  /** Not armed again when nothing is left to look at. */
  readonly #tick = (): void => {
    this.#cancel = undefined;
    const now = this.#clock.monotonic();
    for (const timed of this.#timed) timed.onTick(now);
    if (this.#timed.size > 0) this.#cancel ??= this.#clock.after(this.#period, this.#tick);
  };
}
