/** One table for every failure a user can meet: HTTP status, type, retry rule and exit code are columns of it. */
interface ErrorSpec {
  /** Status of the router's answer. */
  readonly http: number;
  /** `error.type` in OpenAI's shape; the values that the official SDKs know where there is one. */
  readonly type: string;
  /** `error.code` in OpenAI's shape. */
  readonly code: string | null;
  /** Process exit code of a command that ends with it (contract 1). */
  readonly exit: number;
  readonly doc: string;
}

export const ERRORS = {
  BAD_REQUEST: { http: 400, type: "invalid_request_error", code: null, exit: 2, doc: "The request is malformed." },
  BAD_CONFIG: {
    http: 400,
    type: "invalid_request_error",
    code: "bad_config",
    exit: 2,
    doc: "A configuration or manifest is wrong; every problem is listed.",
  },
  UNAUTHENTICATED: {
    http: 401,
    type: "invalid_request_error",
    code: "invalid_api_key",
    exit: 5,
    doc: "No key or token, or a wrong one.",
  },
  FORBIDDEN: {
    http: 403,
    type: "permission_error",
    code: "insufficient_permissions",
    exit: 5,
    doc: "The key or token may not do this.",
  },
  MODEL_NOT_FOUND: {
    http: 404,
    type: "invalid_request_error",
    code: "model_not_found",
    exit: 3,
    doc: "No model of that name is served.",
  },
  NOT_FOUND: { http: 404, type: "invalid_request_error", code: "not_found", exit: 3, doc: "There is no such object." },
  UNKNOWN_URL: {
    http: 404,
    type: "invalid_request_error",
    code: "unknown_url",
    exit: 3,
    doc: "There is no such path.",
  },
  API_NOT_SERVED: {
    http: 404,
    type: "invalid_request_error",
    code: "unsupported_endpoint",
    exit: 3,
    doc: "The model is served, but its engine has no such API.",
  },
  PREVIOUS_RESPONSE_NOT_SUPPORTED: {
    http: 400,
    type: "invalid_request_error",
    code: "previous_response_not_supported",
    exit: 2,
    doc: "The request goes on from an earlier answer, and none are kept.",
  },
  METHOD_NOT_ALLOWED: {
    http: 405,
    type: "invalid_request_error",
    code: "method_not_allowed",
    exit: 2,
    doc: "The path exists, but not with this method.",
  },
  BODY_TOO_LARGE: {
    http: 413,
    type: "invalid_request_error",
    code: "request_too_large",
    exit: 2,
    doc: "The body is over the limit.",
  },
  REQUEST_TIMEOUT: {
    http: 408,
    type: "invalid_request_error",
    code: "request_timeout",
    exit: 4,
    doc: "The request's head did not come in time.",
  },
  RATE_LIMITED: {
    http: 429,
    type: "rate_limit_error",
    code: "rate_limit_exceeded",
    exit: 1,
    doc: "A limit of the key's is reached: requests or tokens per minute, or requests at the same time.",
  },
  BUDGET_USED_UP: {
    http: 429,
    type: "insufficient_quota",
    code: "insufficient_quota",
    exit: 1,
    doc: "The key's tokens of the day or the month are used up.",
  },
  KEYS_NOT_KNOWN: {
    http: 503,
    type: "service_unavailable_error",
    code: "keys_not_known",
    exit: 1,
    doc: "The router has just started and has not heard yet which keys there are.",
  },
  HEADERS_TOO_LARGE: {
    http: 431,
    type: "invalid_request_error",
    code: "headers_too_large",
    exit: 2,
    doc: "The request's headers are over the limit.",
  },
  UNSUPPORTED_TYPE: {
    http: 415,
    type: "invalid_request_error",
    code: "unsupported_content_type",
    exit: 2,
    doc: "The body's Content-Type is none that the path takes.",
  },
  UNSUPPORTED_ENCODING: {
    http: 415,
    type: "invalid_request_error",
    code: "unsupported_content_encoding",
    exit: 2,
    doc: "The body's Content-Encoding is not understood.",
  },
  CLIENT_GONE: {
    http: 499,
    type: "invalid_request_error",
    code: "client_closed_request",
    exit: 1,
    doc: "The client left before the answer; only logs and metrics see this.",
  },
  INTERNAL: { http: 500, type: "server_error", code: null, exit: 1, doc: "A bug in llmgw." },
  ENGINE_BROKE_OFF: {
    http: 502,
    type: "upstream_error",
    code: "engine_unavailable",
    exit: 1,
    doc: "The engine refused, died or answered garbage.",
  },
  MODEL_NOT_READY: {
    http: 503,
    type: "service_unavailable_error",
    code: "model_not_ready",
    exit: 1,
    doc: "The model is known, but no replica of it is ready.",
  },
  LOOP_DETECTED: {
    http: 508,
    type: "invalid_request_error",
    code: "loop_detected",
    exit: 1,
    doc: "The request came back to a router that had sent it to an upstream.",
  },
  OVERLOADED: {
    http: 503,
    type: "service_unavailable_error",
    code: "server_is_overloaded",
    exit: 1,
    doc: "Every replica has as many requests as it works on, and the queue is full or the wait in it was too long.",
  },
  ENGINE_TIMEOUT: {
    http: 504,
    type: "timeout_error",
    code: "engine_timeout",
    exit: 4,
    doc: "The engine took longer than the configured limit.",
  },
  WAIT_TIMEOUT: {
    http: 504,
    type: "timeout_error",
    code: "timeout",
    exit: 4,
    doc: "What was waited for did not happen in time.",
  },
  CONFLICT: {
    http: 409,
    type: "invalid_request_error",
    code: "conflict",
    exit: 1,
    doc: "The object changed or is held by someone else.",
  },
  UNREACHABLE: {
    http: 503,
    type: "service_unavailable_error",
    code: "unreachable",
    exit: 1,
    doc: "The control plane cannot be reached.",
  },
  FAILED: {
    http: 500,
    type: "server_error",
    code: "failed",
    exit: 1,
    doc: "The operation failed; the message says why.",
  },
} as const satisfies Record<string, ErrorSpec>;

export type ErrorCode = keyof typeof ERRORS;

/** The one error class. `message` is for people: what happened, where, and what to do. */
export class LlmgwError extends Error {
  override readonly name = "LlmgwError";
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** The one funnel for caught values. */
  static from(thrown: unknown): LlmgwError {
    if (thrown instanceof LlmgwError) return thrown;
    return new LlmgwError("INTERNAL", messageOf(thrown), { cause: thrown });
  }
}

/** What a caught value says, never empty and never itself a throw, whatever was thrown. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) {
    if (thrown.message !== "") return thrown.message;
    // A host name with several addresses that all refuse gives one of these, and it says nothing itself.
    const inner = thrown instanceof AggregateError ? thrown.errors.map(messageOf) : [];
    return inner.length > 0 ? inner.join("; ") : thrown.name;
  }
  if (typeof thrown !== "object" || thrown === null) return String(thrown);
  try {
    return JSON.stringify(thrown);
  } catch {
    return Object.prototype.toString.call(thrown);
  }
}
