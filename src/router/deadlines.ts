import { type Millis, millis } from "../core/ids.ts";
import type { AttemptState, Relaying, Waiting } from "./attempt-state.ts";
import type { EngineFailure } from "./engine/connection.ts";
import type { Refusal } from "./error-body.ts";
import type { RouterLimits } from "./limits.ts";

/** What time does to an attempt. */
type Due =
  | { readonly kind: "answer"; readonly failure: EngineFailure }
  /** The client has taken nothing for as long as an engine may be silent. */
  | { readonly kind: "client" }
  /** The stream is silent, and should show that it lives. */
  | { readonly kind: "silence"; readonly state: Relaying };

/** What is due now; undefined: nothing. */
export function dueOf(state: AttemptState, limits: RouterLimits, now: Millis): Due | undefined {
  if (state.kind === "waiting") return dueAnswer(state, limits, now);
  return state.kind === "relaying" ? dueRest(state, limits, now) : undefined;
}

/** Why a body that stopped coming is refused; undefined: it is not late yet. */
export function lateUpload(activeAt: Millis, { uploadIdle }: RouterLimits, now: Millis): Refusal | undefined {
  if (now - activeAt < uploadIdle) return undefined;
  return { code: "BAD_REQUEST", message: `The rest of the body did not come within ${inSeconds(uploadIdle)}.` };
}

function dueAnswer(state: Waiting, { connect, firstByte }: RouterLimits, now: Millis): Due | undefined {
  if (now - state.since < (state.connected ? firstByte : connect)) return undefined;
  const failure: EngineFailure = state.connected
    ? { kind: "firstByteTimeout", detail: `no answer within ${inSeconds(firstByte)}` }
    : { kind: "refused", detail: `no connection within ${inSeconds(connect)}` };
  return { kind: "answer", failure };
}

function dueRest(state: Relaying, { idle, streamComment }: RouterLimits, now: Millis): Due | undefined {
  if (now - state.activeAt >= idle) {
    // A client that takes nothing for so long is as good as gone; that is not the engine's fault.
    if (state.held) return { kind: "client" };
    return { kind: "answer", failure: { kind: "idleTimeout", detail: `nothing came for ${inSeconds(idle)}` } };
  }
  return now - state.relay.sentAt >= streamComment ? { kind: "silence", state } : undefined;
}

export const inSeconds = (limit: Millis): string => `${String(millis(Math.round(limit / 100) / 10))} s`;
