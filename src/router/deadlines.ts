import { type Millis, millis } from "../core/ids.ts";
import type { EngineFailure } from "./engine/connection.ts";
import type { Refusal } from "./error-body.ts";
import type { Relaying, State, Waiting } from "./exchange-state.ts";
import type { RouterLimits } from "./limits.ts";

/** What time does to a request. */
export type Due =
  /** Its body stopped coming. */
  | { readonly kind: "upload"; readonly refusal: Refusal }
  | { readonly kind: "answer"; readonly state: Waiting | Relaying; readonly failure: EngineFailure }
  /** The stream is silent, and should show that it lives. */
  | { readonly kind: "silence"; readonly state: Relaying };

/** What is due now; undefined: nothing. A request that waits for its turn has its deadline where it waits. */
export function dueOf(state: State, limits: RouterLimits, now: Millis): Due | undefined {
  if (state.kind === "uploading") return dueUpload(state.activeAt, limits, now);
  if (state.kind === "waiting") return dueAnswer(state, limits, now);
  return state.kind === "relaying" ? dueRest(state, limits, now) : undefined;
}

function dueUpload(activeAt: Millis, { uploadIdle }: RouterLimits, now: Millis): Due | undefined {
  if (now - activeAt < uploadIdle) return undefined;
  const message = `The rest of the body did not come within ${inSeconds(uploadIdle)}.`;
  return { kind: "upload", refusal: { code: "BAD_REQUEST", message } };
}

function dueAnswer(state: Waiting, { connect, firstByte }: RouterLimits, now: Millis): Due | undefined {
  if (now - state.since < (state.connected ? firstByte : connect)) return undefined;
  const failure: EngineFailure = state.connected
    ? { kind: "firstByteTimeout", detail: `no answer within ${inSeconds(firstByte)}` }
    : { kind: "refused", detail: `no connection within ${inSeconds(connect)}` };
  return { kind: "answer", state, failure };
}

function dueRest(state: Relaying, { idle, streamComment }: RouterLimits, now: Millis): Due | undefined {
  if (now - state.activeAt >= idle) {
    const failure: EngineFailure = { kind: "idleTimeout", detail: `nothing came for ${inSeconds(idle)}` };
    return { kind: "answer", state, failure };
  }
  return now - state.relay.sentAt >= streamComment ? { kind: "silence", state } : undefined;
}

export const inSeconds = (limit: Millis): string => `${String(millis(Math.round(limit / 100) / 10))} s`;
