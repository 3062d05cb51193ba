import type { Millis } from "../core/ids.ts";
import type { ReplicaRoute } from "../core/route.ts";
import { readRetryAfter } from "../routing/retry-after.ts";
import { type ResponseHead, valuesOf } from "./engine/response-head.ts";
import { isRelayedFromElsewhere } from "./upstreams/headers.ts";

/** What an engine's answer keeps to itself. */
const KEPT_BACK: ReadonlySet<string> = new Set([
  // Of the connection, not of the answer.
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  // Written anew for the client.
  "content-length",
  "date",
  "retry-after",
  "x-request-id",
  // What the engine is and where.
  "server",
  "x-powered-by",
  "via",
  "location",
  "content-location",
  "refresh",
  "alt-svc",
  "process-start-time-unix",
  // Secrets, echoed, and states that only one replica would know.
  "set-cookie",
  "authorization",
  "x-api-key",
  "api-key",
  "www-authenticate",
]);

/** Of every event stream, names and values in turn: an engine that sets them too would have them there twice. */
export const OF_EVENT_STREAMS = ["cache-control", "no-cache, no-transform", "x-accel-buffering", "no"] as const;
const OF_STREAMS: ReadonlySet<string> = new Set(OF_EVENT_STREAMS.filter((_, index) => index % 2 === 0));

/** Headers of an engine that no client of the router should act on. */
const KEPT_BACK_PREFIXES = ["access-control-", "x-llmgw-"] as const;

const EVENT_STREAM = /^text\/event-stream/i;

export function isEventStream({ headers }: ResponseHead): boolean {
  for (let index = 0; index < headers.length; index += 2) {
    if (headers[index] === "content-type" && EVENT_STREAM.test(headers[index + 1] ?? "")) return true;
  }
  return false;
}

/** Names and values in turn, as the client gets them; ours are still to come. `now`: the wall clock. */
export function answerHeaders(
  head: ResponseHead,
  replica: ReplicaRoute,
  { isStream, now }: { readonly isStream: boolean; readonly now: Millis },
): string[] {
  const headers = relayedHeaders(head, replica, isStream);
  headers.push(...retryAfterOf(head, now));
  // What an engine cannot do it cannot do the next time either, but clients repeat whatever is 500 or above.
  if (head.status === 501) headers.push("x-should-retry", "false");
  return headers;
}

function relayedHeaders(head: ResponseHead, replica: ReplicaRoute, isStream: boolean): string[] {
  const out: string[] = [];
  for (let index = 0; index < head.headers.length; index += 2) {
    const name = head.headers[index] ?? "";
    const value = head.headers[index + 1] ?? "";
    if (isKeptBack(name, replica) || (isStream && OF_STREAMS.has(name)) || betrays(value, replica)) continue;
    out.push(name, value);
  }
  if (isStream) out.push(...OF_EVENT_STREAMS);
  else if (head.framing.kind === "length") out.push("content-length", String(head.framing.bytes));
  return out;
}

/** The headers of an answer whose body became another: JSON, of another length. */
export function rewrittenHeaders(headers: readonly string[]): string[] {
  const out: string[] = [];
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] ?? "";
    if (name !== "content-type" && name !== "content-length") out.push(name, headers[index + 1] ?? "");
  }
  out.push("content-type", "application/json; charset=utf-8");
  return out;
}

/** The engine's wish as clients honour it, as a header; empty when it has none. */
function retryAfterOf(head: ResponseHead, now: Millis): readonly string[] {
  const at = head.headers.indexOf("retry-after");
  if (at === -1) return [];
  const [value] = valuesOf(head.headers, "retry-after");
  const seconds = value === undefined ? undefined : readRetryAfter(value, now);
  return seconds === undefined ? [] : ["retry-after", String(seconds)];
}

const isKeptBack = (name: string, { upstream }: ReplicaRoute): boolean =>
  (upstream !== undefined && !isRelayedFromElsewhere(name)) ||
  KEPT_BACK.has(name) ||
  KEPT_BACK_PREFIXES.some((prefix) => name.startsWith(prefix));

/** Whether a value holds the engine's key or address. */
const betrays = (value: string, { host, port, apiKey }: ReplicaRoute): boolean =>
  (apiKey !== "" && value.includes(apiKey)) || (value.includes(host) && value.includes(`:${String(port)}`));
