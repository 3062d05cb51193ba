import { type Millis, millis } from "../../core/ids.ts";
import type { Clock } from "../../platform/clock.ts";

/** Behind more than this a router is so busy that all who wait have to wait alike. */
const LONGEST_WAIT = millis(50);

interface Waiting {
  readonly start: () => void;
  readonly since: Millis;
}

/**
 * Requests that wait to be read while streams run. To start one takes as long as to pass on five events, and clients whose
 * streams end together ask for the next ones together: all read at once they would hold up every event of the others. So in
 * one turn of the event loop as many are as there are for each stream, and in the usual case that is one.
 */
export class StartQueue {
  readonly #clock: Clock;
  #waiting: Waiting[] = [];
  #isDue = false;
  /** Streams that run, as they were counted last. */
  streams = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whoever comes now should wait. */
  get isHeldUp(): boolean {
    return this.streams > 0;
  }

  /** Calls back when it is its turn, in the order of coming. */
  add(start: () => void): void {
    this.#waiting.push({ start, since: this.#clock.monotonic() });
    this.#later();
  }

  #later(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#turn);
  }

  readonly #turn = (): void => {
    this.#isDue = false;
    for (const { start } of this.#waiting.splice(0, this.#share())) start();
    if (this.#waiting.length > 0) this.#later();
  };

  #share(): number {
    const [first] = this.#waiting;
    const isLate = first !== undefined && this.#clock.monotonic() - first.since > LONGEST_WAIT;
    return isLate || !this.isHeldUp ? this.#waiting.length : Math.ceil(this.#waiting.length / this.streams);
  }
}
