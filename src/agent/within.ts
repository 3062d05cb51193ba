import type { Millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";

interface Wait<T> {
  readonly clock: Clock;
  readonly promise: Promise<T>;
  readonly otherwise: T;
}

/** What the promise comes to, or `otherwise` when that takes longer. The work behind it goes on. */
export async function within<T>(limit: Millis, { clock, promise, otherwise }: Wait<T>): Promise<T> {
  const settled = new AbortController();
  try {
    return await Promise.race([promise, pause(clock, limit, settled.signal).then(() => otherwise)]);
  } finally {
    settled.abort();
  }
}
