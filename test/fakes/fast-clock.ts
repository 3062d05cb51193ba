import { type Millis, millis } from "../../src/core/ids.ts";
import type { Clock } from "../../src/platform/clock.ts";

/** A clock on which `factor` seconds pass in each real one: for waits that a test cannot sit through. */
export const fastClock = (factor: number): Clock => ({
  now: () => millis(Date.now()),
  monotonic: () => millis(performance.now() * factor),
  after(delay: Millis, callback: () => void) {
    const timer = setTimeout(callback, delay / factor);
    return () => {
      clearTimeout(timer);
    };
  },
});
