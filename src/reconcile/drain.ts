import { type Millis, plus, type ProfileName, type ReplicaId } from "../core/ids.ts";
import { type Replica, REPLICA_TRAITS, type ReplicaState } from "../core/replica-state.ts";

/** What a connected router last said. */
export interface RouterReport {
  readonly router: string;
  /** Of the table that it uses. */
  readonly tableRevision: number;
  /** Requests in flight; absent is none. */
  readonly inFlight: ReadonlyMap<ReplicaId, number>;
  /** Requests that wait for a replica; absent is none. */
  readonly waiting: ReadonlyMap<ProfileName, number>;
}

export interface Routers {
  readonly reports: readonly RouterReport[];
  /** For each replica that has left the route table: the first revision without it. */
  readonly goneSince: ReadonlyMap<ReplicaId, number>;
  /** The server has been up for long enough that every router which is there has come back to it. */
  readonly settled: boolean;
}

/**
 * The state of a replica that is to go: out of the routes first when it serves, else stopped at once. Undefined: nothing of
 * it exists, it can simply be removed.
 */
export function drainedState(
  { state, placement }: Replica,
  { why, now, drain }: { readonly why: string; readonly now: Millis; readonly drain: Millis },
): ReplicaState | undefined {
  if (state.kind === "pending" || placement === undefined) return undefined;
  if (!REPLICA_TRAITS[state.kind].counts) return state;
  if (state.kind !== "ready") return { kind: "stopping", why };
  return { kind: "draining", endpoint: state.endpoint, slots: state.slots, deadline: plus(now, drain), why };
}

/**
 * Whether one that is not ready may have requests in flight all the same: it was ready a moment ago, and its node, whose agent
 * was started again, has still to ask it. Its node soon knows; longer than for a drain it is not waited for.
 */
export function mayServe(
  { id, state, since }: Replica,
  routers: Routers,
  { now, drain }: { readonly now: Millis; readonly drain: Millis },
): boolean {
  if (state.kind !== "starting" || now >= plus(since, drain)) return false;
  return !routers.settled || routers.reports.some(({ inFlight }) => (inFlight.get(id) ?? 0) > 0);
}

/** Draining is over when no router sends to it or waits for it any more, or when the time for it is. */
export function afterDraining(replica: Replica, routers: Routers, now: Millis): ReplicaState {
  const { state } = replica;
  // Until routers are back they may send to it what they were never told not to.
  if (state.kind !== "draining" || !routers.settled) return state;
  if (now >= state.deadline) return { kind: "stopping", why: `${state.why}; the time to drain was over` };
  const goneSince = routers.goneSince.get(replica.id);
  if (goneSince === undefined) return state;
  const isIdle = routers.reports.every(
    ({ tableRevision, inFlight }) => tableRevision >= goneSince && (inFlight.get(replica.id) ?? 0) === 0,
  );
  return isIdle ? { kind: "stopping", why: state.why } : state;
}
