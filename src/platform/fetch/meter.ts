import { millis } from "../../core/ids.ts";
import type { Clock } from "../clock.ts";

const WINDOW_MS = 5000;
/** What is new is shown so often at most. */
export const SAMPLE_EVERY = millis(200);

/** Bytes per second over the last seconds: a rate that neither jumps nor remembers an hour ago. */
export interface Meter {
  /** Takes the total so far; true when enough time has passed to show something new. */
  note(done: number): boolean;
  rate(): number;
}

export function createMeter(clock: Clock, start: number): Meter {
  let samples = [{ at: clock.monotonic(), done: start }];
  let latest = samples[0];
  return {
    note(done) {
      const at = clock.monotonic();
      latest = { at, done };
      const last = samples.at(-1);
      // A restart begins from nothing, and what was before it says nothing about the rate.
      if (last !== undefined && done < last.done) samples = [];
      if (last !== undefined && samples.length > 0 && at - last.at < SAMPLE_EVERY) return false;
      samples = [...samples.filter((sample) => at - sample.at <= WINDOW_MS), latest];
      return true;
    },
    rate() {
      const first = samples[0];
      if (first === undefined || latest === undefined || latest.at <= first.at) return 0;
      return Math.max(0, ((latest.done - first.done) * 1000) / (latest.at - first.at));
    },
  };
}
