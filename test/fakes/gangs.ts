import { type Gang, NEW_GANG, type RankReport } from "../../src/core/gang.ts";
import { bytes, gpuUuid, millis, type NodeId, nodeId } from "../../src/core/ids.ts";
import type { ObservedReplica, ObservedReplicaState } from "../../src/core/observed.ts";
import type { Placement, Replica, ReplicaState } from "../../src/core/replica-state.ts";
import type { NodeReport } from "../../src/reconcile/follow.ts";
import { type Followed, followedGang } from "../../src/reconcile/gang.ts";
import { profile, replica } from "./values.ts";

// A replica on the nodes a and b, and what these say of it.

export const now = millis(1_000_000);
export const [A, B] = [nodeId("a"), nodeId("b")];
export const big = profile("big", {
  engine: "vllm",
  resources: { nodes: 2, gpus: 1 },
  parallel: { tensor: 2, pipeline: 1 },
});
const share = (node: NodeId) => ({ node, gpus: [gpuUuid(`${node}-0`)], memory: bytes(1), gpuMemory: bytes(1) });
const placement: Placement = { ...share(A), gang: { fabric: "ib-a", engine: "vllm", followers: [share(B)] } };

export const members = [
  { node: A, address: "10.0.0.1", port: 41_001 },
  { node: B, address: "10.0.0.2", port: 41_001 },
];
export const prepared = (rank: number) => ({
  ...{ engine: "vllm 0.33.0", weights: "w1", digest: "", address: `10.0.0.${String(rank + 1)}`, port: 41_001 },
});
export const found = (rank: number, problem = "", clockAhead = 3) => [{ peer: 1 - rank, problem, clockAhead }];

export interface Said {
  readonly state?: ObservedReplicaState;
  readonly report?: Partial<RankReport>;
}
export const preparing: ObservedReplicaState = { kind: "preparing", progress: undefined };
export const waits: ObservedReplicaState = { kind: "starting", note: "waits for the other ranks" };
const serving: ObservedReplicaState = {
  ...{ kind: "ready", endpoint: { host: "10.0.0.1", port: 41_000 }, slots: 8, context: 4096, engine: "vllm 0.33.0" },
};
export const dead = (reason: string): ObservedReplicaState => ({ kind: "failed", reason, lastLines: [`${reason}!`] });

export const isPrepared = (rank: number): Said => ({ state: waits, report: { prepared: prepared(rank) } });
export const isChecked = (rank: number, problem?: string, ahead?: number): Said => ({
  state: waits,
  report: { prepared: prepared(rank), findings: found(rank, problem, ahead) },
});
export const runs = (rank: number, state: ObservedReplicaState = serving): Said => ({
  state,
  report: { prepared: prepared(rank), findings: found(rank), launched: true },
});
export const ended = (rank: number, reason: string, at: number, more: Partial<RankReport> = {}): Said => ({
  state: dead(reason),
  report: { prepared: prepared(rank), findings: found(rank), launched: true, endedAt: millis(at), ...more },
});

export const gangReplica = (state: ReplicaState, gang: Partial<Gang> = {}, more: Partial<Replica> = {}): Replica =>
  replica("big-1", big, state, { placement, gang: { ...NEW_GANG, ...gang }, since: millis(now - 1000), ...more });

export const node = (of: Replica, rank: number, said: Said | undefined, more: Partial<NodeReport> = {}): NodeReport => {
  const report: RankReport = {
    ...{ rank, attempt: of.gang?.attempt ?? 1, prepared: undefined, findings: undefined },
    ...{ launched: false, endedAt: undefined, retry: true, blamesOthers: false, ...said?.report },
  };
  const seen: ObservedReplica = {
    ...{ id: of.id, profile: of.profile, specHash: of.specHash, state: said?.state ?? preparing },
    ...{ restarts: 0, pid: 100 + rank, rank: report },
  };
  return {
    liveness: "connected",
    observed: { revision: 7, replicas: said === undefined ? [] : [seen] },
    desiredRevision: 7,
    ...more,
  };
};

export function follow(of: Replica, a: NodeReport | undefined, b: NodeReport | undefined, at = now): Followed {
  const reports = [a === undefined ? [] : [[A, a] as const], b === undefined ? [] : [[B, b] as const]].flat();
  return followedGang(of, new Map(reports), at);
}
export const said = (of: Replica, a: Said | undefined, b: Said | undefined, at = now): Followed =>
  follow(of, node(of, 0, a), node(of, 1, b), at);
/** After the moment in which the others' ends are waited for. */
export const later = (of: Replica, a: Said, b: Said): Followed => {
  const first = said(of, a, b);
  return first.replica.gang?.ending === undefined ? first : said(first.replica, a, b, millis(now + 500));
};
export const summary = ({ replica: { state, gang } }: Followed): string =>
  `${state.kind} ${String(gang?.attempt ?? 0)} ${gang?.order ?? ""}`;

export const starting: ReplicaState = { kind: "starting", note: "" };
export const ready: ReplicaState = {
  kind: "ready",
  endpoint: { host: "10.0.0.1", port: 41_000 },
  slots: 8,
  engine: "vllm 0.33.0",
};
export const running = { order: "run", members } as const;
