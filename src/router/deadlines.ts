import { type Millis, millis } from "../core/ids.ts";
import type { EngineFailure } from "./engine/connection.ts";
import type { Refusal } from "./error-body.ts";
import type { Relaying, Waiting } from "./exchange-state.ts";
import type { RouterLimits } from "./limits.ts";

/** What a body that stopped coming is told; undefined while it has time. */
export function overdueUpload(activeAt: Millis, { uploadIdle }: RouterLimits, now: Millis): Refusal | undefined {
  if (now - activeAt < uploadIdle) return undefined;
  return { code: "BAD_REQUEST", message: `The rest of the body did not come within ${inSeconds(uploadIdle)}.` };
}

/** What an attempt without an answer has run into; undefined while it has time. */
export function overdueAnswer(state: Waiting, limits: RouterLimits, now: Millis): EngineFailure | undefined {
  const { connect, firstByte } = limits;
  if (now - state.since < (state.connected ? firstByte : connect)) return undefined;
  return state.connected
    ? { kind: "firstByteTimeout", detail: `no answer within ${inSeconds(firstByte)}` }
    : { kind: "refused", detail: `no connection within ${inSeconds(connect)}` };
}

/** The same for an answer that has begun. */
export function overdueRest(state: Relaying, { idle }: RouterLimits, now: Millis): EngineFailure | undefined {
  if (now - state.activeAt < idle) return undefined;
  return { kind: "idleTimeout", detail: `nothing came for ${inSeconds(idle)}` };
}

export const inSeconds = (limit: Millis): string => `${String(millis(Math.round(limit / 100) / 10))} s`;
