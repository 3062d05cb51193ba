import type { Millis } from "../../core/ids.ts";
import type { Clock } from "../clock.ts";

/** Aborts `signal` when nothing was heard for the idle time. There is no limit on the whole as long as bytes flow. */
export interface IdleWatch {
  readonly signal: AbortSignal;
  heard(): void;
  /** Whether silence is what ended it. */
  expired(): boolean;
  stop(): void;
}

/** Looks once per idle time, not once per chunk: what was heard late is waited for a second time, for the rest only. */
export function watchIdle(clock: Clock, idle: Millis, outer: AbortSignal): IdleWatch {
  const controller = new AbortController();
  let lastHeard = clock.monotonic();
  let expired = false;
  const look = (): void => {
    const left = lastHeard + idle - clock.monotonic();
    if (left > 0) {
      cancel = clock.after(left as Millis, look);
      return;
    }
    expired = true;
    controller.abort();
  };
  let cancel = clock.after(idle, look);
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    heard() {
      lastHeard = clock.monotonic();
    },
    expired: () => expired,
    stop() {
      cancel();
    },
  };
}
