import { type ErrorCode, ERRORS } from "../../core/errors.ts";
import { errorBody, type Refusal } from "../error-body.ts";
import { newRequestId } from "../request-id.ts";

const STATUS_TEXTS: Readonly<Partial<Record<ErrorCode, string>>> = {
  HEADERS_TOO_LARGE: "Request Header Fields Too Large",
  REQUEST_TIMEOUT: "Request Timeout",
};

/** Of bytes in which no request could be found. */
export const NO_REQUEST: Refusal = { code: "BAD_REQUEST", message: "What was sent is no HTTP/1.1 request." };
export const LATE_HEAD: Refusal = { code: "REQUEST_TIMEOUT", message: "The request's head did not come in time." };

/** Of a request whose body makes no sense. */
export const MISFRAMED: Refusal = {
  code: "BAD_REQUEST",
  message: "The request's body is not framed as HTTP/1.1 asks for.",
};

/** The last bytes of a connection on which no request could be read, and what the log says of it. `detail`: for the log. */
export function malformedAnswer(
  refusal: Refusal,
  detail: string | undefined,
): { readonly bytes: string; readonly line: Readonly<Record<string, unknown>> } {
  const requestId = newRequestId();
  const body = errorBody("openai", refusal, requestId);
  const { http } = ERRORS[refusal.code];
  const head =
    `HTTP/1.1 ${String(http)} ${STATUS_TEXTS[refusal.code] ?? "Bad Request"}\r\nContent-Type: application/json; charset=utf-8\r\n` +
    `Content-Length: ${String(Buffer.byteLength(body))}\r\nX-Request-Id: ${requestId}\r\nConnection: close\r\n\r\n`;
  return { bytes: head + body, line: { request_id: requestId, code: http, detail } };
}
