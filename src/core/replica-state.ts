import type { Bytes, GpuUuid, Millis, NodeId, ProfileName, ReplicaId } from "./ids.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** How far the installing of an engine or the fetching of weights is. */
export interface Progress {
  readonly what: string;
  readonly bytesDone: Bytes;
  /** 0: the source did not say. */
  readonly bytesTotal: Bytes;
  readonly bytesPerSecond: number;
}

/** A node's own no to a replica. */
export interface Rejection {
  readonly node: NodeId;
  /** The rule that said no. */
  readonly filter: string;
  readonly reason: string;
}

/**
 * A replica as the control plane knows it (contract 4). Who moves it on:
 * pending → placed by the scheduler; placed → preparing → starting → ready, and → failed, by the node's reports;
 * → draining by the cluster reconciler; draining → stopping when no router has it in flight; stopping → stopped by the
 * node's report; → lost when its node is lost.
 */
export type ReplicaState =
  | { readonly kind: "pending"; readonly rejections: readonly Rejection[] }
  | { readonly kind: "placed" }
  | { readonly kind: "preparing"; readonly progress: Progress | undefined }
  | { readonly kind: "starting"; readonly note: string }
  | { readonly kind: "ready"; readonly endpoint: Endpoint; readonly slots: number; readonly engine: string }
  | {
      readonly kind: "draining";
      readonly endpoint: Endpoint | undefined;
      readonly slots: number;
      readonly deadline: Millis;
      readonly why: string;
    }
  | { readonly kind: "stopping"; readonly why: string }
  | { readonly kind: "stopped" }
  | { readonly kind: "failed"; readonly reason: string; readonly lastLines: readonly string[] }
  | { readonly kind: "lost"; readonly reason: string };

export type ReplicaKind = ReplicaState["kind"];

interface Traits {
  /** Its node must go on running it. */
  readonly wantedOnNode: boolean;
  /** Its GPUs and memory are not free for another. */
  readonly holdsResources: boolean;
  /** Counts towards what the profile asks for. */
  readonly counts: boolean;
}

/** Each state answers every question here, so a new one cannot be forgotten. */
export const REPLICA_TRAITS: Readonly<Record<ReplicaKind, Traits>> = {
  pending: { wantedOnNode: false, holdsResources: false, counts: true },
  placed: { wantedOnNode: true, holdsResources: true, counts: true },
  preparing: { wantedOnNode: true, holdsResources: true, counts: true },
  starting: { wantedOnNode: true, holdsResources: true, counts: true },
  ready: { wantedOnNode: true, holdsResources: true, counts: true },
  draining: { wantedOnNode: true, holdsResources: true, counts: false },
  stopping: { wantedOnNode: false, holdsResources: true, counts: false },
  stopped: { wantedOnNode: false, holdsResources: false, counts: false },
  // Kept on its node, so that the reason and the log stay to be read and the node retries after a change.
  failed: { wantedOnNode: true, holdsResources: true, counts: true },
  lost: { wantedOnNode: false, holdsResources: false, counts: false },
};

/** Where a replica was put, and what is booked for it there. */
export interface Placement {
  readonly node: NodeId;
  readonly gpus: readonly GpuUuid[];
  /** Host memory booked. */
  readonly memory: Bytes;
  /** Booked on each of the GPUs. */
  readonly gpuMemory: Bytes;
}

export interface Replica {
  readonly id: ReplicaId;
  readonly profile: ProfileName;
  readonly specHash: string;
  readonly state: ReplicaState;
  readonly placement: Placement | undefined;
  readonly apiKey: string;
  readonly restarts: number;
  readonly pid: number | undefined;
  readonly generation: number;
  readonly createdAt: Millis;
  /** When the present state began. */
  readonly since: Millis;
}
