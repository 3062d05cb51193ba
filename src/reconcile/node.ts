import type { DesiredReplica } from "../core/desired.ts";
import { canonicalJson } from "../core/fingerprint.ts";
import type { ReplicaId } from "../core/ids.ts";

/** A replica that the node has, as it was started. */
export interface LocalReplica {
  readonly replica: DesiredReplica;
  readonly phase:
    | "active"
    /** On its way out, or not known well enough to touch: it holds what it holds. */
    | "held"
    | "stopped"
    | "failed";
}

export type NodeAction =
  | { readonly kind: "start"; readonly replica: DesiredReplica }
  | { readonly kind: "stop"; readonly id: ReplicaId; readonly why: "unwanted" | "outdated" }
  /** Nothing of it is left on the machine. */
  | { readonly kind: "forget"; readonly id: ReplicaId }
  /** The running engine is the right one; what changed is only how it is watched. */
  | { readonly kind: "retune"; readonly replica: DesiredReplica };

/**
 * What the node should do next. One pass says what to do now; the next, with fresh observations, says the rest. A start
 * is held back, pass after pass, until its GPUs are really free. The control plane promises that no GPU is wanted twice.
 */
export function reconcileNode(
  desired: readonly DesiredReplica[],
  local: readonly LocalReplica[],
): readonly NodeAction[] {
  const wanted = new Map(desired.map((replica) => [replica.id, replica]));
  const present = new Set(local.map(({ replica }) => replica.id));
  const busyGpus = new Set(local.filter((have) => isInTheWay(have, wanted)).flatMap(({ replica }) => replica.gpus));
  const changes = local.flatMap((have) => changeOf(have, wanted.get(have.replica.id)));
  const starts = [...wanted.values()]
    .filter((want) => !present.has(want.id) && !want.gpus.some((gpu) => busyGpus.has(gpu)))
    .map((replica): NodeAction => ({ kind: "start", replica }));
  return [...changes, ...starts];
}

/**
 * Whether others have to wait for its GPUs. Not for those of one that stays: several may share a GPU, and whoever wanted both
 * there has counted that.
 */
function isInTheWay({ replica, phase }: LocalReplica, wanted: ReadonlyMap<ReplicaId, DesiredReplica>): boolean {
  if (phase === "stopped") return false;
  const want = wanted.get(replica.id);
  return want === undefined || !isSameLaunch(want, replica);
}

function changeOf(have: LocalReplica, want: DesiredReplica | undefined): readonly NodeAction[] {
  const { id } = have.replica;
  if (have.phase === "held") return [];
  if (have.phase === "stopped") return [{ kind: "forget", id }];
  if (want === undefined) return [{ kind: "stop", id, why: "unwanted" }];
  if (!isSameLaunch(want, have.replica)) return [{ kind: "stop", id, why: "outdated" }];
  const isSameWatch = want.startTimeout === have.replica.startTimeout;
  // A failed replica may have failed for want of time: more of it is a reason to try again.
  if (have.phase === "failed") return isSameWatch ? [] : [{ kind: "stop", id, why: "outdated" }];
  return isSameWatch && isSameOrder(want, have.replica) ? [] : [{ kind: "retune", replica: want }];
}

const isSameOrder = ({ gang: want }: DesiredReplica, { gang: have }: DesiredReplica): boolean =>
  want?.order === have?.order && canonicalJson(want?.members ?? []) === canonicalJson(have?.members ?? []);

/**
 * Neither the spec nor the GPUs nor the key of a running process can be changed, and a rank of another attempt has nobody
 * to work with.
 */
function isSameLaunch(want: DesiredReplica, have: DesiredReplica): boolean {
  return (
    want.specHash === have.specHash &&
    want.generation === have.generation &&
    want.apiKey === have.apiKey &&
    want.gang?.attempt === have.gang?.attempt &&
    want.gpus.join() === have.gpus.join()
  );
}
