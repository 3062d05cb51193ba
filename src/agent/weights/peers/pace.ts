import { type Millis, millis, plus } from "../../../core/ids.ts";

/** Lets so many bytes a second through: each sender is told how long to wait for its turn. */
export class Pace {
  readonly #bytesPerSecond: number;
  #freeAt: Millis = millis(0);

  constructor(bytesPerSecond: number) {
    this.#bytesPerSecond = bytesPerSecond;
  }

  /** What was not used before is not saved up. */
  wait(bytes: number, now: Millis): Millis {
    const begin = millis(Math.max(now, this.#freeAt));
    this.#freeAt = plus(begin, millis((bytes * 1000) / this.#bytesPerSecond));
    return millis(begin - now);
  }
}
