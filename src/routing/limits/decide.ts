import { type KeyLimits, SHARED_LIMITS, type SharedLimitName, type SharedLimits } from "../../core/client-key.ts";
import { type Millis, millis } from "../../core/ids.ts";
import { untilNextDay, untilNextMonth } from "../../core/usage.ts";
import type { KeyUse, Moment } from "./use.ts";

export type LimitName = keyof KeyLimits;

/** What one router may admit under a key. */
export interface Allowance {
  /** Of the whole key. */
  readonly limits: KeyLimits;
  /** This router's part of them. */
  readonly shares: SharedLimits;
  /** A router that hears nothing of the others takes of a budget's rest only this part: 1 / parts. */
  readonly parts: number;
}

/** Everything is this router's. */
export const alone = (limits: KeyLimits): Allowance => ({ limits, shares: limits, parts: 1 });

export type LimitDecision =
  | { readonly kind: "admit" }
  /** Until `wait` is over, asking again is in vain. `shared`: other routers may still have some of it. */
  | { readonly kind: "refuse"; readonly limit: LimitName; readonly wait: Millis; readonly shared: boolean };

const ADMIT: LimitDecision = { kind: "admit" };
/** Nobody knows when one of the requests in flight ends, or when another router lets go of its share. */
const A_MOMENT: Millis = millis(1_000);

interface Rule {
  readonly limit: LimitName;
  readonly isOver: (use: KeyUse, allowance: Allowance, now: Moment) => boolean;
  readonly wait: (use: KeyUse, most: number, now: Moment) => Millis;
}

const isAbove = ([total, own]: readonly [number, number], most: number, parts: number): boolean =>
  own * parts >= most - total;

const budget = (limit: "tokensPerDay" | "tokensPerMonth"): Rule => ({
  limit,
  isOver: ({ budget: used }, { limits, parts }, { wall }) =>
    isAbove(limit === "tokensPerDay" ? used.ofDay(wall) : used.ofMonth(wall), limits[limit] ?? Infinity, parts),
  wait: (_use, _most, { wall }) => (limit === "tokensPerDay" ? untilNextDay(wall) : untilNextMonth(wall)),
});

/** The first that says no is the one that is told: those with the longest waits come first. */
const RULES: readonly Rule[] = [
  budget("tokensPerMonth"),
  budget("tokensPerDay"),
  {
    limit: "tokensPerMinute",
    isOver: ({ minute }, { shares }, { monotonic }) => minute.tokens(monotonic) >= (shares.tokensPerMinute ?? Infinity),
    wait: ({ minute }, most, { monotonic }) => minute.wait("tokens", most, monotonic),
  },
  {
    limit: "requestsPerMinute",
    isOver: ({ minute }, { shares }, { monotonic }) =>
      minute.requests(monotonic) >= (shares.requestsPerMinute ?? Infinity),
    wait: ({ minute }, most, { monotonic }) => minute.wait("requests", most, monotonic),
  },
  {
    limit: "concurrency",
    isOver: ({ inFlight }, { shares }) => inFlight >= (shares.concurrency ?? Infinity),
    wait: () => A_MOMENT,
  },
];

/**
 * Whether one more request may begin. What a request takes is known only at its end, so token limits look at what was
 * used before: the request that crosses one is answered whole and the next is refused. What is used beyond a limit is
 * bounded by what the requests take that run at the same time: a limit for those bounds it.
 */
export function decideLimits(use: KeyUse, allowance: Allowance, now: Moment): LimitDecision {
  for (const { limit, isOver, wait } of RULES) {
    if (allowance.limits[limit] === undefined || !isOver(use, allowance, now)) continue;
    const most = allowance.limits[limit];
    const shared = isShared(limit) && (allowance.shares[limit] ?? Infinity) < most;
    return { kind: "refuse", limit, wait: shared ? A_MOMENT : wait(use, most, now), shared };
  }
  return ADMIT;
}

const isShared = (limit: LimitName): limit is SharedLimitName => SHARED_LIMITS.some((shared) => shared === limit);
