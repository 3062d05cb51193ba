import { millis } from "../../src/core/ids.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";

/** The system's clock, whose wall clock somebody sets: by `step` ms, forwards or backwards. Monotonic time goes on as it does. */
export function steppingClock(): Clock & { step(by: number): void } {
  let offset = 0;
  return {
    ...systemClock,
    now: () => millis(systemClock.now() + offset),
    step: (by) => {
      offset += by;
    },
  };
}
