import type { EngineFailure } from "./engine/connection.ts";

/** Answers that are not for the client to see. */
export function failureOfStatus(status: number, isAnotherFree: () => boolean): EngineFailure | undefined {
  // Following it would carry the request, and the engine's key, to an address that nobody configured.
  if (status >= 300 && status < 400) return { kind: "garbage", detail: `it redirects with ${String(status)}` };
  if (status === 401) return { kind: "keyRefused", detail: "401" };
  if ((status === 429 || status === 503) && isAnotherFree()) return { kind: "busy", detail: String(status) };
  return undefined;
}
