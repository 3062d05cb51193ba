import type { Clock } from "../clock.ts";
import type { Millis } from "../../core/ids.ts";
import { type HeaderValues, rateLimited, retryTime } from "./answer.ts";
import type { FetchFailure } from "./failure.ts";

/** Remembers which hosts asked not to be called, so that no caller calls them before the stated time. */
export interface HostLimits {
  /** The failure to answer with instead of calling, or undefined when the host may be called. */
  refusal(url: URL): (FetchFailure & { readonly kind: "rate-limited" }) | undefined;
  /** Takes note of an answer; the failure when it was a "too many requests". */
  note(url: URL, status: number, headers: HeaderValues): (FetchFailure & { readonly kind: "rate-limited" }) | undefined;
}

export function createHostLimits(clock: Clock): HostLimits {
  const closedUntil = new Map<string, Millis>();
  const refusal: HostLimits["refusal"] = (url) => {
    const until = closedUntil.get(url.origin);
    if (until === undefined) return undefined;
    if (clock.now() < until) return rateLimited(url, until);
    closedUntil.delete(url.origin);
    return undefined;
  };
  return {
    refusal,
    note(url, status, headers) {
      const until = retryTime(status, headers, clock.now());
      if (until === undefined) return undefined;
      closedUntil.set(url.origin, until);
      return rateLimited(url, until);
    },
  };
}
