import type { Millis } from "../../core/ids.ts";
import { dayOf, type KeyTotal, monthOf } from "../../core/usage.ts";

/**
 * Tokens of a key's day and month: those that are counted for good, over all routers, and those of this router that are on
 * their way there. What is written for good leaves the second heap for the first in one step.
 */
export class Budget {
  readonly #total = new Counted();
  readonly #own = new Counted();

  /** Of requests that ended here. */
  add(tokens: number, wall: Millis): void {
    const own = this.#own;
    own.turn(wall);
    own.dayTokens += tokens;
    own.monthTokens += tokens;
  }

  /** Some that were added are counted for good. */
  acknowledge(tokens: number, wall: Millis): void {
    const own = this.#own;
    if (dayOf(wall) === own.day) own.dayTokens = Math.max(0, own.dayTokens - tokens);
    if (monthOf(wall) === own.month) own.monthTokens = Math.max(0, own.monthTokens - tokens);
  }

  setTotal({ day, dayTokens, month, monthTokens }: Omit<KeyTotal, "keyId">): void {
    Object.assign(this.#total, { day, dayTokens, month, monthTokens });
  }

  /** Counted for good, and of this router beyond that. */
  ofDay(wall: Millis): readonly [total: number, own: number] {
    const day = dayOf(wall);
    return [this.#total.ofDay(day), this.#own.ofDay(day)];
  }

  ofMonth(wall: Millis): readonly [total: number, own: number] {
    const month = monthOf(wall);
    return [this.#total.ofMonth(month), this.#own.ofMonth(month)];
  }
}

class Counted {
  day = 0;
  dayTokens = 0;
  month = 0;
  monthTokens = 0;

  ofDay(day: number): number {
    return this.day === day ? this.dayTokens : 0;
  }

  ofMonth(month: number): number {
    return this.month === month ? this.monthTokens : 0;
  }

  /** What was of another day, or month, counts no more. */
  turn(wall: Millis): void {
    const day = dayOf(wall);
    if (day === this.day) return;
    const month = monthOf(wall);
    this.monthTokens = this.ofMonth(month);
    this.dayTokens = 0;
    this.day = day;
    this.month = month;
  }
}
