import type { Gang } from "./gang.ts";
import type { Bytes, GpuUuid, Millis, NodeId, ProfileName, ReplicaId } from "./ids.ts";
import type { NodeMemory } from "./measured-memory.ts";
import type { EngineName } from "./profile.ts";

export interface Endpoint {
  readonly host: string;
  readonly port: number;
  /** It speaks TLS, with the certificate of this SHA-256, in lower-case hex. Left out: plain HTTP. */
  readonly tlsSha256?: string;
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

/** A replica as the control plane knows it (contract 4). REPLICA_TRAITS says who moves each state on. */
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
  /** `note`: what its end waits for, in its node's words. Left out: its node has none. */
  | { readonly kind: "stopping"; readonly why: string; readonly note?: string }
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
  /** For the reference page. */
  readonly doc: string;
  /** Who moves it on, and to what: nobody else may. */
  readonly next: string;
}

/** Each state answers every question here, so a new one cannot be forgotten. */
export const REPLICA_TRAITS: Readonly<Record<ReplicaKind, Traits>> = {
  pending: {
    wantedOnNode: false,
    holdsResources: false,
    counts: true,
    doc: "It has no place yet. Each node's own no is listed.",
    next: "placed, by the scheduler; gone at once when it is no longer wanted",
  },
  placed: {
    wantedOnNode: true,
    holdsResources: true,
    counts: true,
    doc: "Its node and GPUs are booked; the node has not taken it up yet.",
    next: "preparing, starting, ready or failed, by its node's report; stopping, when it is no longer wanted",
  },
  preparing: {
    wantedOnNode: true,
    holdsResources: true,
    counts: true,
    doc: "The engine is being installed or the weights are being fetched.",
    next: "starting, ready or failed, by its node's report; stopping, when it is no longer wanted",
  },
  starting: {
    wantedOnNode: true,
    holdsResources: true,
    counts: true,
    doc: "The engine's process is being started, or waits for its next try after an end.",
    next: "preparing, ready or failed, by its node's report; stopping, when it is no longer wanted",
  },
  ready: {
    wantedOnNode: true,
    holdsResources: true,
    counts: true,
    doc: "A real completion of one token came back: routers send requests.",
    next: "draining, when it is no longer wanted; starting or failed, by its node's report",
  },
  draining: {
    wantedOnNode: true,
    holdsResources: true,
    counts: false,
    doc: "It gets no new requests and finishes those that it has.",
    next: "stopping, when no router has a request in flight there, its time is over, or its engine has ended; ready again, when it is wanted again",
  },
  stopping: {
    wantedOnNode: false,
    holdsResources: true,
    counts: false,
    doc: "Its node was told to stop it. Its GPUs are free when the node says that it has ended.",
    next: "stopped, by its node's report",
  },
  stopped: {
    wantedOnNode: false,
    holdsResources: false,
    counts: false,
    doc: "It has ended, as it was told.",
    next: "nothing: it is shown once more and then forgotten",
  },
  failed: {
    // Kept on its node, so that the reason and the log stay to be read and the node retries after a change.
    wantedOnNode: true,
    holdsResources: true,
    counts: true,
    doc: "Its node has given up on it, with a reason and the engine's last lines.",
    next: "preparing, starting or ready, by its node's report after a fresh start was asked for; stopping, when it is no longer wanted; it gives its place to a replica that finds none elsewhere",
  },
  lost: {
    wantedOnNode: false,
    holdsResources: false,
    counts: false,
    doc: "Its node is lost: it may still serve, but nobody can tell.",
    next: "ready, if its node comes back and it serves while no other serves in its place; else draining, and stopped",
  },
};

/** The first node's no to a replica that waits for a place, as " (n1: is cordoned)"; "" when there is none. */
export function firstNo(state: ReplicaState): string {
  const [no] = state.kind === "pending" ? state.rejections : [];
  return no === undefined ? "" : ` (${no.node}: ${no.reason})`;
}

/** What is booked for a replica on one node. */
export interface Share {
  readonly node: NodeId;
  readonly gpus: readonly GpuUuid[];
  /** Host memory booked. */
  readonly memory: Bytes;
  /** Booked on each of the GPUs. */
  readonly gpuMemory: Bytes;
}

/** Where a replica was put: on its node or, when it spans several, on its head. */
export interface Placement extends Share {
  /** Left out: it is on this one node. */
  readonly gang?: GangPlacement;
}

interface GangPlacement {
  /** Every node of it is on the fabric of this name. */
  readonly fabric: string;
  /** All ranks run the same. */
  readonly engine: EngineName;
  /** Ranks 1 and above, in their order. */
  readonly followers: readonly Share[];
}

/** What a replica holds, node by node in the order of ranks. */
export const sharesOf = (placement: Placement | undefined): readonly Share[] =>
  placement === undefined ? [] : [placement, ...(placement.gang?.followers ?? [])];

/** Its nodes for people, such as "n1 and n2". */
export const nodesOf = (placement: Placement | undefined): string =>
  sharesOf(placement)
    .map(({ node }) => node)
    .join(" and ");

/** The GPUs that are booked, on whatever node. */
export const gpusInUse = (replicas: readonly Replica[]): ReadonlySet<GpuUuid> => {
  const holding = replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].holdsResources);
  return new Set(holding.flatMap(({ placement }) => sharesOf(placement).flatMap(({ gpus }) => gpus)));
};

/** What a replica holds of a node; undefined: nothing. */
export const shareOn = (placement: Placement | undefined, node: NodeId | string): Share | undefined =>
  sharesOf(placement).find((share) => share.node === node);

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
  /** Why another of the same form is to take its place, in words. Left out: none is. */
  readonly replace?: string;
  /** Of one that spans nodes, once it is placed. */
  readonly gang?: Gang;
  /** What it was last found to take on its nodes. Left out: it was not measured yet. */
  readonly measured?: readonly NodeMemory[];
}
