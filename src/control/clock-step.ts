import { type Millis, millis, plus } from "../core/ids.ts";
import type { Replica } from "../core/replica-state.ts";
import type { Snapshot, StoredNode } from "../store/store.ts";

/** Clocks are slewed by less than this from turn to turn, ms; more is somebody who sets them. */
const LEAST_STEP = 1_000;

/** By how much the wall clock was set between two turns. `ahead`: of the clock that never steps. */
export const stepBetween = (before: Millis, ahead: Millis): Millis =>
  millis(Math.abs(ahead - before) < LEAST_STEP ? 0 : ahead - before);

/**
 * The same moments by a wall clock that was set. Deadlines have to outlive the process, so they are kept by that clock; left
 * as they are, a clock that is put right would end every drain at once, with the streams that it waits for, or never.
 */
export function afterStep(before: Snapshot, step: Millis): Snapshot {
  if (step === 0) return before;
  return {
    ...before,
    nodes: before.nodes.map((node) => nodeAfter(node, step)),
    replicas: before.replicas.map((replica) => replicaAfter(replica, step)),
  };
}

const nodeAfter = (node: StoredNode, step: Millis): StoredNode =>
  node.drain === undefined
    ? node
    : { ...node, drain: { since: plus(node.drain.since, step), deadline: plus(node.drain.deadline, step) } };

function replicaAfter(replica: Replica, step: Millis): Replica {
  const { state, gang } = replica;
  const ending = gang?.ending;
  return {
    ...replica,
    since: plus(replica.since, step),
    ...(state.kind === "draining" ? { state: { ...state, deadline: plus(state.deadline, step) } } : {}),
    ...(gang === undefined
      ? {}
      : {
          gang: {
            ...gang,
            retryAt: plus(gang.retryAt, step),
            ending: ending === undefined ? undefined : { ...ending, since: plus(ending.since, step) },
          },
        }),
  };
}
