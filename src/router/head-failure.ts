import type { EngineFailure } from "./engine/connection.ts";
import type { ResponseHead } from "./engine/response-head.ts";
import { isEventStream } from "./relay-headers.ts";

/** No API answers with nothing: clients would take it for an answer and fail over it. */
export const EMPTY_ANSWER: EngineFailure = { kind: "garbage", detail: "its answer is empty" };

/** Whether something is to come. A stream may be one without events. */
export const promisesBody = (head: ResponseHead): boolean => head.status === 200 && !isEventStream(head);

/** Answers that are not for the client to see. */
export function failureOfHead(head: ResponseHead, isAnotherFree: () => boolean): EngineFailure | undefined {
  const { status, framing } = head;
  // Following it would carry the request, and the engine's key, to an address that nobody configured.
  if (status >= 300 && status < 400) return { kind: "garbage", detail: `it redirects with ${String(status)}` };
  if (status === 401) return { kind: "keyRefused", detail: "401" };
  if ((status === 429 || status === 503) && isAnotherFree()) return { kind: "busy", detail: String(status) };
  const isEmpty = framing.kind === "length" && framing.bytes === 0;
  return isEmpty && promisesBody(head) ? EMPTY_ANSWER : undefined;
}
