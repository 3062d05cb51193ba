import type { KeyLimits } from "../../core/client-key.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { current, type KeyUse, MINUTE, type Moment, untilNextDay, untilNextMonth } from "./use.ts";

export type LimitName = keyof KeyLimits;

export type LimitDecision =
  /** `use`: with this request in it. */
  | { readonly kind: "admit"; readonly use: KeyUse }
  /** Until `wait` is over, asking again is in vain. */
  | { readonly kind: "refuse"; readonly limit: LimitName; readonly wait: Millis };

interface Rule {
  readonly limit: LimitName;
  /** What counts against the limit. */
  readonly used: (use: KeyUse) => number;
  readonly wait: (use: KeyUse, now: Moment) => Millis;
}

/** Nobody knows when one of the requests in flight ends. */
const A_MOMENT: Millis = millis(1_000);

const untilNextMinute = ({ minuteStart }: KeyUse, { monotonic }: Moment): Millis =>
  millis(Math.max(0, minuteStart + MINUTE - monotonic));

/** The first that says no is the one that is told: those with the longest waits come first. */
const RULES: readonly Rule[] = [
  { limit: "tokensPerMonth", used: (use) => use.monthTokens, wait: (_, { wall }) => untilNextMonth(wall) },
  { limit: "tokensPerDay", used: (use) => use.dayTokens, wait: (_, { wall }) => untilNextDay(wall) },
  { limit: "tokensPerMinute", used: (use) => use.tokens, wait: untilNextMinute },
  { limit: "requestsPerMinute", used: (use) => use.requests, wait: untilNextMinute },
  { limit: "concurrency", used: (use) => use.inFlight, wait: () => A_MOMENT },
];

/**
 * Whether one more request may begin. What a request takes is known only at its end, so token limits look at what was
 * used before: the request that crosses one is answered whole and the next is refused. What is used beyond a limit is
 * bounded by what the requests take that run at the same time: a limit for those bounds it.
 */
export function decideLimits(use: KeyUse, limits: KeyLimits, now: Moment): LimitDecision {
  const is = current(use, now);
  for (const { limit, used, wait } of RULES) {
    const most = limits[limit];
    if (most !== undefined && used(is) >= most) return { kind: "refuse", limit, wait: wait(is, now) };
  }
  return { kind: "admit", use: { ...is, inFlight: is.inFlight + 1, requests: is.requests + 1 } };
}
