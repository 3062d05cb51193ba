import { type Millis, millis } from "../../src/core/ids.ts";
import type { Clock } from "../../src/platform/clock.ts";

/** A process of the simulated cluster: with it end its timers, and every answer that it waits for. */
export interface Lifetime {
  readonly clock: Clock;
  isOver(): boolean;
  end(): void;
}

/** What the wall clocks of one machine are ahead of the true time; whoever steps them alters it. */
export interface WallClock {
  offset: number;
}

interface Timer {
  readonly due: number;
  readonly run: () => void;
  isOff: boolean;
}

/** 2026-01-01: any day will do. */
const EPOCH = 1_767_225_600_000;

export const wallTime = ({ now }: SimClock, { offset }: WallClock): Millis => millis(Math.round(EPOCH + now + offset));

/** Time that passes only when it is told to, one timer after the other. Of two that are due together the older runs first. */
export class SimClock {
  #now = 0;
  /** In the order in which they run. */
  readonly #timers: Timer[] = [];

  get now(): number {
    return this.#now;
  }

  /** When the next timer is due; undefined: none is set. */
  get next(): number | undefined {
    this.#dropCancelled();
    return this.#timers[0]?.due;
  }

  /** Runs the next timer, at its time. */
  runNext(): void {
    this.#dropCancelled();
    const timer = this.#timers.shift();
    if (timer === undefined) return;
    this.#now = Math.max(this.#now, timer.due);
    timer.run();
  }

  /** Nothing happens until then. */
  skipTo(time: number): void {
    this.#now = Math.max(this.#now, time);
  }

  after(delay: number, run: () => void): () => void {
    const timer: Timer = { due: this.#now + Math.max(0, delay), run, isOff: false };
    this.#timers.splice(this.#placeFor(timer.due), 0, timer);
    return () => {
      timer.isOff = true;
    };
  }

  /** Resolves after so long, whoever lives. */
  passed(delay: number): Promise<void> {
    return new Promise((resolve) => this.after(delay, resolve));
  }

  lifetime(wall: WallClock): Lifetime {
    const state = { isOver: false };
    const start = this.#now;
    const after = (delay: Millis, callback: () => void): (() => void) =>
      this.after(delay, () => {
        if (!state.isOver) callback();
      });
    return {
      clock: {
        now: () => wallTime(this, wall),
        // Each process's own begins somewhere else.
        monotonic: () => millis(this.#now - start + 1_000_000),
        after,
      },
      isOver: () => state.isOver,
      end: () => {
        state.isOver = true;
      },
    };
  }

  #dropCancelled(): void {
    while (this.#timers[0]?.isOff === true) this.#timers.shift();
  }

  #placeFor(due: number): number {
    let [low, high] = [0, this.#timers.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#timers[middle]?.due ?? 0) <= due) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Resolves when every promise that could go on by itself has: all of them are in memory, so that nothing is left to wait for. */
export const quiesce = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Never resolves: what a process that is gone is answered. */
export const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
