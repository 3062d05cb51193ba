import type { ServerConfig } from "../config/server.ts";
import type { EngineSource } from "../core/desired.ts";
import type { EngineName } from "../core/profile.ts";
import { ENGINES } from "../engines/list.ts";
import type { LivenessPolicy } from "../reconcile/liveness.ts";

/** What an operator has set that the decisions depend on. */
export interface ControlPolicy {
  readonly liveness: LivenessPolicy;
  readonly engines: Readonly<Record<string, EngineSource>>;
  /** Engines that a node without them can get: those that are named above, and those that nodes install by themselves. */
  readonly installable: readonly string[];
  /** Engines of which one replica can span nodes. */
  readonly spanning: readonly EngineName[];
  readonly weightsConcurrency: number;
  /** Whether nodes fetch weights from each other. */
  readonly weightsPeers: boolean;
}

export const policyOf = ({ nodes, engines, weights }: ServerConfig): ControlPolicy => ({
  liveness: { unreachableAfter: nodes.unreachable_after, lostAfter: nodes.lost_after, brake: nodes.brake },
  engines,
  // A package of Python is ten gigabytes of somebody's choice: without a named version no node takes one by itself.
  installable: [
    ...new Set([
      ...ENGINES.filter(({ python }) => python === undefined).map(({ name }) => name),
      ...Object.keys(engines),
    ]),
  ],
  spanning: ENGINES.filter(({ spansNodes }) => spansNodes === true).map(({ name }) => name),
  weightsConcurrency: weights.concurrency,
  weightsPeers: weights.peers,
});
