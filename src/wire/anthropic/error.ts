import { fieldsOf } from "../json-value.ts";

const TYPES: Readonly<Record<number, string>> = {
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  413: "request_too_large",
  429: "rate_limit_error",
  503: "overloaded_error",
  504: "timeout_error",
  529: "overloaded_error",
};

interface Failure {
  readonly status: number;
  readonly message: string;
}

/** An error as Anthropic's clients read it. */
export function anthropicErrorBody({ status, message }: Failure, requestId: string): string {
  const type = TYPES[status] ?? (status >= 500 ? "api_error" : "invalid_request_error");
  return JSON.stringify({ type: "error", error: { type, message }, request_id: requestId });
}

export function isAnthropicError(value: unknown): boolean {
  const { type, error } = fieldsOf(value);
  const { type: kind, message } = fieldsOf(error);
  return type === "error" && typeof kind === "string" && typeof message === "string";
}
