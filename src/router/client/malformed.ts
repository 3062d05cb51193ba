import { type ErrorCode, ERRORS } from "../../core/errors.ts";
import { errorBody, type Refusal } from "../error-body.ts";
import { HEADERS_TOO_LARGE } from "../refusals.ts";
import { newRequestId } from "../request-id.ts";

const STATUS_TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  HEADERS_TOO_LARGE: "Request Header Fields Too Large",
  REQUEST_TIMEOUT: "Request Timeout",
};

function refusalOf({ code }: NodeJS.ErrnoException): Refusal {
  if (code === "HPE_HEADER_OVERFLOW") return HEADERS_TOO_LARGE;
  if (code === "ERR_HTTP_REQUEST_TIMEOUT")
    return { code: "REQUEST_TIMEOUT", message: "The request's head did not come in time." };
  return { code: "BAD_REQUEST", message: "What was sent is no HTTP/1.1 request." };
}

/** The last bytes of a connection on which no request could be read, and what the log says of it. */
export function malformedAnswer(error: NodeJS.ErrnoException): {
  readonly bytes: string;
  readonly line: Readonly<Record<string, unknown>>;
} {
  const refusal = refusalOf(error);
  const requestId = newRequestId();
  const body = errorBody("openai", refusal, requestId);
  const { http } = ERRORS[refusal.code];
  const head =
    `HTTP/1.1 ${String(http)} ${STATUS_TEXTS[refusal.code] ?? "Bad Request"}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${String(Buffer.byteLength(body))}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n`;
  return { bytes: head + body, line: { request_id: requestId, code: http, detail: error.code } };
}
