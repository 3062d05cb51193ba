/** Origins whose pages may call the router; "*" for all. */
export type AllowedOrigins = readonly string[];

const EXPOSED =
  "x-request-id, request-id, x-llmgw-replica, x-llmgw-attempts, retry-after, retry-after-ms, x-should-retry, " +
  "x-ratelimit-limit-requests, x-ratelimit-remaining-requests, x-ratelimit-reset-requests, " +
  "x-ratelimit-limit-tokens, x-ratelimit-remaining-tokens, x-ratelimit-reset-tokens";
/** Browsers ask again after it; most keep an answer for two hours at most. */
const PREFLIGHT_SECONDS = "7200";

/** Headers for an answer to a page of this origin: none when it is not allowed. Names and values in turn. */
export function corsHeaders(allowed: AllowedOrigins, origin: string | undefined): readonly string[] {
  if (allowed.length === 0 || origin === undefined) return [];
  if (!allowed.includes(origin) && !allowed.includes("*")) return ["vary", "origin"];
  return ["access-control-allow-origin", origin, "vary", "origin", "access-control-expose-headers", EXPOSED];
}

export interface Preflight {
  readonly origin: string | undefined;
  readonly requestedHeaders: string | undefined;
  readonly methods: readonly string[];
}

/** The answer to a browser's question before the request itself. It needs no key: browsers do not send one with it. */
export function preflightHeaders(
  allowed: AllowedOrigins,
  { origin, requestedHeaders, methods }: Preflight,
): readonly string[] {
  const headers = corsHeaders(allowed, origin);
  if (headers[0] !== "access-control-allow-origin") return headers;
  const asked = requestedHeaders === undefined ? [] : ["access-control-allow-headers", requestedHeaders];
  return [
    ...headers,
    "access-control-allow-methods",
    methods.join(", "),
    ...asked,
    "access-control-max-age",
    PREFLIGHT_SECONDS,
  ];
}
