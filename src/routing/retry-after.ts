import { type Millis, millis } from "../core/ids.ts";

/** Clients ignore what is longer (some take it for "never"), so nothing longer is ever sent. */
export const LONGEST_RETRY_AFTER_SECONDS = 60;

const WHOLE_OR_DECIMAL = /^\d{1,15}(\.\d{1,9})?$/;
const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** What an engine's Retry-After asks for, in whole seconds from 1 to 60; undefined when it is nonsense or past. */
export function readRetryAfter(value: string, now: Millis): number | undefined {
  const text = value.trim();
  if (WHOLE_OR_DECIMAL.test(text)) return toRetryAfter(millis(Number(text) * 1000));
  if (!HTTP_DATE.test(text)) return undefined;
  const wait = Date.parse(text) - now;
  return wait > 0 ? toRetryAfter(millis(wait)) : undefined;
}

/** A wait as a client can be told it: whole seconds, rounded up, never 0, never over 60. */
export const toRetryAfter = (wait: Millis): number =>
  Math.min(LONGEST_RETRY_AFTER_SECONDS, Math.max(1, Math.ceil(wait / 1000)));
