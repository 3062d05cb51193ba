import { millis, nodeId } from "../../src/core/ids.ts";
import type { ObservedReplica, ObservedReplicaState } from "../../src/core/observed.ts";
import type { Profile } from "../../src/core/profile.ts";
import type { Replica, ReplicaState } from "../../src/core/replica-state.ts";
import { type ClusterPlan, type ClusterView, reconcileCluster } from "../../src/reconcile/cluster.ts";
import type { NodeReport } from "../../src/reconcile/follow.ts";
import { profile } from "./values.ts";

// One pass over a cluster's replicas, for tests that say only what is special about it.

export const now = millis(1_000_000);

export const smol = profile("smol");
export const changed = profile("smol", { args: ["--new"] });
export const times = (count: number, of: Profile = smol): Profile => ({ ...of, replicas: { kind: "fixed", count } });

export const pending: ReplicaState = { kind: "pending", rejections: [] };
export const starting: ReplicaState = { kind: "starting", note: "" };
export const draining = {
  kind: "draining",
  endpoint: { host: "10.0.0.1", port: 41_000 },
  slots: 4,
  deadline: millis(now + 1000),
  why: "because",
} as const satisfies ReplicaState;
export const stopping: ReplicaState = { kind: "stopping", why: "because" };

export const seen = (
  of: Replica,
  state: ObservedReplicaState,
  more: Partial<ObservedReplica> = {},
): ObservedReplica => ({
  id: of.id,
  profile: of.profile,
  specHash: of.specHash,
  state,
  restarts: 0,
  pid: undefined,
  ...more,
});
export const seenReady: ObservedReplicaState = {
  kind: "ready",
  endpoint: { host: "10.0.0.1", port: 41_000 },
  slots: 4,
  context: 4096,
  engine: "llama.cpp b1",
};

export const report = (replicas: readonly ObservedReplica[], more: Partial<NodeReport> = {}): NodeReport => ({
  liveness: "connected",
  observed: { revision: 7, replicas },
  desiredRevision: 7,
  ...more,
});

export function plan(view: Partial<ClusterView> & { n1?: NodeReport }): ClusterPlan {
  const { n1, ...rest } = view;
  return reconcileCluster({
    profiles: [],
    replicas: [],
    nodes: new Map(n1 === undefined ? [] : [[nodeId("n1"), n1]]),
    routers: { reports: [], goneSince: new Map(), settled: true },
    drainOf: new Map(),
    emptying: new Map(),
    makesRoom: new Set(),
    scaled: new Map(),
    now,
    ...rest,
  });
}

export const kinds = ({ replicas, remove, create }: ClusterPlan): readonly string[] => [
  ...replicas.map(({ id, state }) => `${id} ${state.kind}`),
  ...remove.map((id) => `${id} removed`),
  ...create.map(({ count }) => `create ${String(count)}`),
];
