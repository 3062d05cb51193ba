import { type Millis, millis } from "../core/ids.ts";

export interface Clock {
  /** Wall clock, ms since 1970: for showing and storing. It may step. */
  now(): Millis;
  /** Never steps and counts a suspend as no time: for deadlines, intervals and backoff. */
  monotonic(): Millis;
  /** Runs the callback once; the returned function cancels it. */
  after(delay: Millis, callback: () => void): () => void;
}

export const systemClock: Clock = {
  now: () => millis(Date.now()),
  monotonic: () => millis(performance.now()),
  after(delay, callback) {
    const timer = setTimeout(callback, delay);
    return () => {
      clearTimeout(timer);
    };
  },
};

/** Resolves after the delay, or at once when the signal aborts: the caller looks at the signal, nothing is thrown. */
export function pause(clock: Clock, delay: Millis, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
      return;
    }
    const done = (): void => {
      cancel();
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const cancel = clock.after(delay, done);
    signal?.addEventListener("abort", done);
  });
}
