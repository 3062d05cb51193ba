import type { ServerConfig } from "../config/server.ts";
import type { EngineSource } from "../core/desired.ts";
import type { LivenessPolicy } from "../reconcile/liveness.ts";

/** What an operator has set that the decisions depend on. */
export interface ControlPolicy {
  readonly liveness: LivenessPolicy;
  readonly engines: Readonly<Record<string, EngineSource>>;
  readonly weightsConcurrency: number;
}

export const policyOf = ({ nodes, engines, weights }: ServerConfig): ControlPolicy => ({
  liveness: { unreachableAfter: nodes.unreachable_after, lostAfter: nodes.lost_after, brake: nodes.brake },
  engines,
  weightsConcurrency: weights.concurrency,
});
