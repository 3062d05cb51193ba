import type { KeyLimits } from "../../core/client-key.ts";
import { current, type KeyUse, MINUTE, type Moment } from "./use.ts";

/** What clients are told of the limits of a minute: names and values in turn. Empty for a key that has none. */
export function rateLimitHeaders(limits: KeyLimits, use: KeyUse, now: Moment): readonly string[] {
  const { requestsPerMinute, tokensPerMinute } = limits;
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) return [];
  const is = current(use, now);
  const isUnused = is.requests === 0 && is.tokens === 0;
  const reset = goDuration(isUnused ? 0 : Math.max(0, is.minuteStart + MINUTE - now.monotonic));
  return [
    ...(requestsPerMinute === undefined ? [] : group("requests", requestsPerMinute - is.requests, requestsPerMinute)),
    ...(requestsPerMinute === undefined ? [] : ["x-ratelimit-reset-requests", reset]),
    ...(tokensPerMinute === undefined ? [] : group("tokens", tokensPerMinute - is.tokens, tokensPerMinute)),
    ...(tokensPerMinute === undefined ? [] : ["x-ratelimit-reset-tokens", reset]),
  ];
}

const group = (what: "requests" | "tokens", left: number, most: number): readonly string[] => [
  `x-ratelimit-limit-${what}`,
  String(most),
  `x-ratelimit-remaining-${what}`,
  String(Math.max(0, left)),
];

/** As Go writes durations, which is how clients read these headers: "12ms", "6.5s", "1m0s". Rounded up to milliseconds. */
export function goDuration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole === 0) return "0s";
  if (whole < 1000) return `${String(whole)}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = String((whole % 60_000) / 1000);
  if (minutes === 0) return `${seconds}s`;
  const hours = Math.floor(minutes / 60);
  return hours === 0 ? `${String(minutes)}m${seconds}s` : `${String(hours)}h${String(minutes % 60)}m${seconds}s`;
}
