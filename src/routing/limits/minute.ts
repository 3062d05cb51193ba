import { type Millis, millis } from "../../core/ids.ts";

export const MINUTE: Millis = millis(60_000);
/** What happens within so long is forgotten together, when the last of it is a minute old. */
const STEP = 500;

interface Slice {
  readonly from: Millis;
  last: Millis;
  requests: number;
  tokens: number;
}

/**
 * Requests and tokens of the last minute, whenever it is asked: no minute that anybody could pick holds more than this
 * counted. Times are on the clock that never steps. At most 121 slices are kept.
 */
export class Minute {
  #slices: Slice[] = [];
  /** Slices before this one are forgotten. */
  #first = 0;
  #requests = 0;
  #tokens = 0;

  requests(now: Millis): number {
    this.#forget(now);
    return this.#requests;
  }

  tokens(now: Millis): number {
    this.#forget(now);
    return this.#tokens;
  }

  add(now: Millis, requests: number, tokens: number): void {
    this.#forget(now);
    let slice = this.#slices.at(-1);
    if (slice === undefined || this.#slices.length === this.#first || now - slice.from >= STEP) {
      slice = { from: now, last: now, requests: 0, tokens: 0 };
      this.#slices.push(slice);
    }
    slice.last = now;
    slice.requests += requests;
    slice.tokens += tokens;
    this.#requests += requests;
    this.#tokens += tokens;
  }

  /** Until fewer than `most` are left if nothing is added. 0: that is so now. At most a minute. */
  wait(what: "requests" | "tokens", most: number, now: Millis): Millis {
    this.#forget(now);
    let left = what === "requests" ? this.#requests : this.#tokens;
    for (let at = this.#first; at < this.#slices.length && left >= most; at++) {
      const slice = this.#slices[at];
      if (slice === undefined) break;
      left -= slice[what];
      if (left < most) return millis(slice.last + MINUTE - now);
    }
    return left < most ? millis(0) : MINUTE;
  }

  /** Until nothing is left of what was counted, if nothing is added. */
  emptyIn(now: Millis): Millis {
    this.#forget(now);
    const newest = this.#slices.at(-1);
    return newest === undefined || this.#slices.length === this.#first
      ? millis(0)
      : millis(Math.max(0, newest.last + MINUTE - now));
  }

  #forget(now: Millis): void {
    for (let slice = this.#slices[this.#first]; slice !== undefined; slice = this.#slices[this.#first]) {
      if (now - slice.last < MINUTE) break;
      this.#requests -= slice.requests;
      this.#tokens -= slice.tokens;
      this.#first += 1;
    }
    // The array is cut seldom: cutting it moves all that is in it.
    if (this.#first > 64) {
      this.#slices = this.#slices.slice(this.#first);
      this.#first = 0;
    }
  }
}
