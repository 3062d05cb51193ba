import { type ErrorCode, ERRORS } from "../core/errors.ts";

/** Whose error objects a path's clients read. */
export type ErrorShape = "openai" | "anthropic";

export interface Refusal {
  readonly code: ErrorCode;
  /** For people: what happened and what to do. */
  readonly message: string;
  /** The field of the request that is at fault. */
  readonly param?: string;
}

export function errorBody(shape: ErrorShape, refusal: Refusal, requestId: string): string {
  if (shape === "anthropic") return anthropicBody(refusal, requestId);
  const { type, code } = ERRORS[refusal.code];
  return JSON.stringify({ error: { message: refusal.message, type, param: refusal.param ?? null, code } });
}

/** The same as the last event of a stream that broke. */
export function errorEvent(shape: ErrorShape, refusal: Refusal, requestId: string): string {
  const data = `data: ${errorBody(shape, refusal, requestId)}\n\n`;
  // Anthropic's clients drop events without a name that they know.
  return shape === "anthropic" ? `event: error\n${data}` : data;
}

function anthropicBody({ code, message }: Refusal, requestId: string): string {
  const { http } = ERRORS[code];
  const type = ANTHROPIC_TYPES[http] ?? (http >= 500 ? "api_error" : "invalid_request_error");
  return JSON.stringify({ type: "error", error: { type, message }, request_id: requestId });
}

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
};
