import { err, ok, type Result } from "../../core/result.ts";
import type { Admission } from "../../routing/admission.ts";
import type { RetryDecision } from "../../routing/retry.ts";
import type { EngineFailure } from "../engine/connection.ts";
import type { Replica } from "../fleet.ts";
import type { Relay } from "../relay.ts";
import type { Handover, KeptAnswer } from "./kept-answer.ts";

/** An attempt failed after the client had a part of the answer. */
export interface HalfWay {
  readonly relay: Relay;
  readonly failure: EngineFailure;
  readonly decision: RetryDecision;
}

/** Who goes on, and how. */
interface Successor {
  readonly to: Replica;
  readonly handover: Handover;
}

/** The replica that would be picked now, if it can go on; otherwise why there is none. */
export function successorOf(kept: KeptAnswer, admission: Admission<Replica>): Result<Successor, string> {
  if (admission.kind !== "send") return err("there is no other replica");
  const handover = kept.handOver(admission.to.route);
  return handover.ok ? ok({ to: admission.to, handover: handover.value }) : handover;
}

/** The failure, and why nobody made it good. */
export const notGoneOn = (failure: EngineFailure, reason: string): EngineFailure => ({
  ...failure,
  detail: `${failure.detail}; no other goes on with the answer: ${reason}`,
});
