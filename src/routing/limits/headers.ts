import type { Allowance } from "./decide.ts";
import type { KeyUse, Moment } from "./use.ts";

/**
 * What clients are told of the limits of a minute: names and values in turn. Empty for a key that has none. What is left is
 * what this router may still admit by itself.
 */
export function rateLimitHeaders({ limits, shares }: Allowance, { minute }: KeyUse, now: Moment): readonly string[] {
  const { requestsPerMinute, tokensPerMinute } = limits;
  if (requestsPerMinute === undefined && tokensPerMinute === undefined) return [];
  const reset = goDuration(minute.emptyIn(now.monotonic));
  const headers: string[] = [];
  if (requestsPerMinute !== undefined) {
    const left = (shares.requestsPerMinute ?? requestsPerMinute) - minute.requests(now.monotonic);
    headers.push(
      "x-ratelimit-limit-requests",
      String(requestsPerMinute),
      "x-ratelimit-remaining-requests",
      String(Math.max(0, left)),
      "x-ratelimit-reset-requests",
      reset,
    );
  }
  if (tokensPerMinute !== undefined) {
    const left = (shares.tokensPerMinute ?? tokensPerMinute) - minute.tokens(now.monotonic);
    headers.push(
      "x-ratelimit-limit-tokens",
      String(tokensPerMinute),
      "x-ratelimit-remaining-tokens",
      String(Math.max(0, left)),
      "x-ratelimit-reset-tokens",
      reset,
    );
  }
  return headers;
}

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
