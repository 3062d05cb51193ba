import { type Millis, millis } from "../../core/ids.ts";
import type { Clock } from "../clock.ts";
import type { HostLimits } from "./limits.ts";
import type { OpenParts } from "./open-parts.ts";
import type { Transport } from "./transport.ts";

export interface RetryPolicy {
  /** Tries in a row that bring nothing new, before giving up. */
  readonly tries: number;
  readonly firstDelay: Millis;
  readonly maxDelay: Millis;
}

/** What every fetch of one downloader shares. */
export interface FetchContext {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly limits: HostLimits;
  readonly open: OpenParts;
  readonly idleTimeout: Millis;
  readonly retry: RetryPolicy;
  /** Connections for one large file. */
  readonly parts: number;
  /** Between 0 and 1. */
  readonly random: () => number;
}

/** Doubles with every failed attempt (from 1), and is drawn from its upper half so that many nodes do not return at once. */
export function delayBefore(context: FetchContext, attempt: number): Millis {
  const { firstDelay, maxDelay } = context.retry;
  const full = Math.min(maxDelay, firstDelay * 2 ** (attempt - 1));
  return millis(full * (0.5 + context.random() / 2));
}
