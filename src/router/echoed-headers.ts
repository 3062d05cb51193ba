import type { ClientHeaders } from "./client/client-headers.ts";
import { type AllowedOrigins, corsHeaders } from "./cors.ts";
import type { ErrorShape } from "./error-body.ts";

const TRACEPARENT = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}$/;

interface Asked {
  readonly headers: ClientHeaders;
  readonly shape: ErrorShape;
  readonly requestId: string;
}

/** What every answer to a request carries beside its x-request-id: names and values in turn. */
export function echoedHeaders({ headers, shape, requestId }: Asked, cors: AllowedOrigins): readonly string[] {
  const allowed = corsHeaders(cors, headers.origin);
  const { traceparent } = headers;
  const isTraced = typeof traceparent === "string" && TRACEPARENT.test(traceparent);
  if (!isTraced && shape !== "anthropic") return allowed;
  return [
    ...allowed,
    // The name under which Anthropic's clients look for it.
    ...(shape === "anthropic" ? ["request-id", requestId] : []),
    ...(isTraced ? ["traceparent", traceparent] : []),
  ];
}
