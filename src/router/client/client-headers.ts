import type { IncomingHttpHeaders } from "node:http";

/** Headers that the router itself reads, by their names in lower case. All others pass through, and need not be found by name. */
export const READ_HEADERS = [
  "access-control-request-headers",
  "anthropic-version",
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "origin",
  "traceparent",
  "transfer-encoding",
  "x-api-key",
  "x-claude-code-session-id",
  "x-client-request-id",
  "x-llmgw-via",
  "x-request-id",
  "x-stainless-retry-count",
] as const;

export type ReadHeader = (typeof READ_HEADERS)[number];

/** An interface, so that nothing that looks for other headers can be given it. */
export interface ClientHeaders extends Readonly<Partial<Pick<IncomingHttpHeaders, ReadHeader>>> {
  readonly "x-request-id"?: string | string[] | undefined;
}
