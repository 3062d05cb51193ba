import type { Millis } from "../../core/ids.ts";
import { dayOf, type KeyTotal, monthOf } from "../../core/usage.ts";

interface Counted {
  readonly day: number;
  readonly dayTokens: number;
  readonly month: number;
  readonly monthTokens: number;
}

const NOTHING: Counted = { day: 0, dayTokens: 0, month: 0, monthTokens: 0 };

/**
 * Tokens of a key's day and month: those that are counted for good, over all routers, and those of this router that are on
 * their way there. What is written for good leaves the second heap for the first in one step.
 */
export class Budget {
  #total: Counted = NOTHING;
  #own: Counted = NOTHING;

  /** Of requests that ended here. */
  add(tokens: number, wall: Millis): void {
    const day = dayOf(wall);
    const own = this.#own.day === day ? this.#own : turned(this.#own, day, wall);
    this.#own = { ...own, dayTokens: own.dayTokens + tokens, monthTokens: own.monthTokens + tokens };
  }

  /** Some that were added are counted for good. */
  acknowledge(tokens: number, wall: Millis): void {
    const own = this.#own;
    const isToday = dayOf(wall) === own.day;
    const isThisMonth = monthOf(wall) === own.month;
    this.#own = {
      ...own,
      dayTokens: isToday ? Math.max(0, own.dayTokens - tokens) : own.dayTokens,
      monthTokens: isThisMonth ? Math.max(0, own.monthTokens - tokens) : own.monthTokens,
    };
  }

  setTotal({ day, dayTokens, month, monthTokens }: Omit<KeyTotal, "keyId">): void {
    this.#total = { day, dayTokens, month, monthTokens };
  }

  /** Counted for good, and of this router beyond that. */
  ofDay(wall: Millis): readonly [total: number, own: number] {
    const day = dayOf(wall);
    return [this.#total.day === day ? this.#total.dayTokens : 0, this.#own.day === day ? this.#own.dayTokens : 0];
  }

  ofMonth(wall: Millis): readonly [total: number, own: number] {
    const month = monthOf(wall);
    return [
      this.#total.month === month ? this.#total.monthTokens : 0,
      this.#own.month === month ? this.#own.monthTokens : 0,
    ];
  }
}

function turned(own: Counted, day: number, wall: Millis): Counted {
  const month = monthOf(wall);
  return { day, dayTokens: 0, month, monthTokens: month === own.month ? own.monthTokens : 0 };
}
