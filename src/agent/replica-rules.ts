import type { DesiredReplica } from "../core/desired.ts";
import { type Millis, millis, plus } from "../core/ids.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import type { LocalReplica } from "../reconcile/node.ts";
import type { SupervisorPolicy } from "../reconcile/supervise.ts";
import type { ProcessRef, SupervisedState } from "../reconcile/supervision.ts";
import type { NodeContext } from "./node-context.ts";

const START_TIMEOUT_UNSAID = millis(30 * 60_000);
const RULES = {
  killAgainAfter: millis(5000),
  maxAttempts: 5,
  stableAfter: millis(60_000),
  backoff: { base: millis(1000), max: millis(60_000) },
} as const;

const startTimeoutOf = ({ startTimeout }: Pick<DesiredReplica, "startTimeout">): Millis =>
  startTimeout > 0 ? startTimeout : START_TIMEOUT_UNSAID;

/** How a replica is supervised on this node. */
export const policyFor = (
  desired: Pick<DesiredReplica, "startTimeout">,
  { stopTimeout }: Pick<NodeContext, "stopTimeout">,
  isRank: boolean,
): SupervisorPolicy => ({ ...RULES, startTimeout: startTimeoutOf(desired), stopTimeout, isRank });

/** Of a process that is taken over: as its record says that it was left. */
export function adoptedState(
  { process, endpoint, capacity, replica }: LaunchRecord & { readonly process: ProcessRef },
  { clock }: Pick<NodeContext, "clock">,
): SupervisedState {
  const now = clock.monotonic();
  if (capacity !== undefined) return { kind: "ready", process, endpoint, capacity, since: now, unanswered: 0 };
  return { kind: "starting", process, endpoint, deadline: plus(now, startTimeoutOf(replica)), note: "" };
}

export const watchPhase = ({ kind }: SupervisedState): "starting" | "ready" | "stopping" =>
  kind === "starting" || kind === "ready" ? kind : "stopping";

export function phaseOf({ kind }: SupervisedState): LocalReplica["phase"] {
  if (kind === "stopped" || kind === "failed") return kind;
  return kind === "abandoning" || kind === "stopping" ? "held" : "active";
}
