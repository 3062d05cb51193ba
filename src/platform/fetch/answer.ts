import { type Millis, millis } from "../../core/ids.ts";
import { type FetchFailure, shownUrl } from "./failure.ts";

export type HeaderValues = Readonly<Record<string, string>>;

/** Names in lower case; a header that came twice is joined with a comma, as HTTP has it. */
export function headerValues(raw: Readonly<Record<string, string | readonly string[] | undefined>>): HeaderValues {
  return Object.fromEntries(
    Object.entries(raw).flatMap(([name, value]) =>
      value === undefined ? [] : [[name.toLowerCase(), typeof value === "string" ? value : value.join(", ")] as const],
    ),
  );
}

/** For a 429 that does not say: GitHub asks for at least a minute. */
const UNSTATED_WAIT_MS = 60_000;

/**
 * When a host that answered "too many requests" wants to be asked again, or undefined when the answer is no such.
 * A 403 counts when it says that nothing is left (GitHub) or how long to wait. `now` is wall clock.
 */
export function retryTime(status: number, headers: HeaderValues, now: Millis): Millis | undefined {
  const isSpent = headers["x-ratelimit-remaining"] === "0";
  const stated = statedWait(headers, now);
  if (status === 429) return stated ?? millis(now + UNSTATED_WAIT_MS);
  if (status === 403 && (isSpent || headers["retry-after"] !== undefined)) {
    return stated ?? millis(now + UNSTATED_WAIT_MS);
  }
  return status === 503 && headers["retry-after"] !== undefined ? stated : undefined;
}

function statedWait(headers: HeaderValues, now: Millis): Millis | undefined {
  const after = headers["retry-after"];
  if (after !== undefined) {
    const at = /^\d+$/.test(after.trim()) ? now + Number(after) * 1000 : Date.parse(after);
    if (Number.isFinite(at)) return millis(Math.max(now, at));
  }
  const reset = headers["x-ratelimit-reset"];
  if (headers["x-ratelimit-remaining"] === "0" && reset !== undefined && /^\d+$/.test(reset)) {
    return millis(Math.max(now, Number(reset) * 1000));
  }
  // The form of the IETF's draft, which the Hub uses: "api";r=0;t=55
  const draft = /(?:^|;)\s*t=(\d+)/.exec(headers["ratelimit"] ?? "")?.[1];
  return draft === undefined ? undefined : millis(now + Number(draft) * 1000);
}

export function rateLimited(url: URL, retryAt: Millis): FetchFailure & { readonly kind: "rate-limited" } {
  const when = new Date(retryAt).toISOString();
  return { kind: "rate-limited", message: `${url.host} wants no more requests before ${when}`, retryAt };
}

const TRANSIENT: readonly number[] = [408, 425, 500, 502, 503, 504];

/** What a status that carries no file means. `retry`: the same request could go better in a moment. */
export function statusFailure(status: number, url: URL): { readonly failure: FetchFailure; readonly retry: boolean } {
  const shown = shownUrl(url);
  if (status === 401 || status === 403) {
    const message = `${shown} answered ${String(status)}: access is refused. A token is missing, wrong, or not allowed to read this`;
    return { failure: { kind: "auth", message }, retry: false };
  }
  if (status === 404 || status === 410) {
    return {
      failure: { kind: "not-found", message: `${shown} answered ${String(status)}: there is no such file` },
      retry: false,
    };
  }
  const failure = { kind: "http", message: `${shown} answered ${String(status)}` } as const;
  return { failure, retry: TRANSIENT.includes(status) || status >= 520 };
}
