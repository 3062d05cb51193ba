import { compareTexts } from "../core/compare-texts.ts";
import { type Bytes, bytes, type NodeId, type ProfileName } from "../core/ids.ts";
import type { ClusterNode, Gpu } from "../core/node.ts";
import { type Replica, type ReplicaKind, REPLICA_TRAITS, type Share, shareOn } from "../core/replica-state.ts";
import { replicasByNode } from "../core/replicas-by-node.ts";
import { type Topology, topologyOf } from "./gpu-groups.ts";

export interface GpuView {
  readonly gpu: Gpu;
  /** What our replicas have booked on it. */
  readonly booked: Bytes;
  /** What can still be given. */
  readonly free: Bytes;
}

/** A node with what is still free on it. */
export interface NodeView {
  readonly node: ClusterNode;
  readonly gpus: readonly GpuView[];
  readonly memoryBooked: Bytes;
  readonly memoryFree: Bytes;
  /** Room for weights, without what is on its way already; undefined: nobody knows. */
  readonly diskFree: Bytes | undefined;
  readonly bookings: readonly Booking[];
  /** How its GPUs lie to each other. */
  readonly topology: Topology;
  /** GPUs that nobody is on, nor anything else. */
  readonly idleGpus: readonly GpuView[];
  /** Some of the GPUs have the host's memory for theirs. */
  readonly hasUnified: boolean;
  /** The part that is taken of all memory that the GPUs have of their own; undefined: they have none. */
  readonly gpuFullness: number | undefined;
}

/** What one replica holds of a node, from the moment it is placed there. */
interface Booking {
  readonly profile: ProfileName;
  readonly share: Share;
  /** It is on its way out, and another has its part already. */
  readonly leaving: boolean;
  /** Its engine may run, so that what is measured on the node may count it already. */
  readonly measured: boolean;
  /** What the node still has to fetch for it. Left out: nothing, or nobody knows. */
  readonly fetch?: Fetch | undefined;
}

/** Weights that are not there yet. */
export interface Fetch {
  readonly source: string;
  readonly bytes: Bytes;
}

/** What the weights of a replica are that its node may have to fetch; undefined: not known. */
export type FetchOf = (replica: Replica) => Fetch | undefined;

/** States in which no engine process exists yet, so that nothing of the booking can be in a measurement. */
const NOT_RUNNING: readonly ReplicaKind[] = ["placed", "preparing"];

/** Unchanged nodes with unchanged replicas have the same view as the last time: what was found out about it still holds. */
export function nodeViews(
  nodes: readonly ClusterNode[],
  replicas: readonly Replica[],
  fetchOf: FetchOf = () => undefined,
): readonly NodeView[] {
  const byNode = replicasByNode(replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].holdsResources));
  return nodes.map((node) => knownView(node, byNode.get(node.id) ?? [], fetchOf));
}

/** The last one of each node. Nodes and replicas stay as they are: what changes is another object. */
const KNOWN = new WeakMap<ClusterNode, { readonly holding: readonly Replica[]; readonly view: NodeView }>();

function knownView(node: ClusterNode, holding: readonly Replica[], fetchOf: FetchOf): NodeView {
  const known = KNOWN.get(node);
  if (known?.holding.length === holding.length && known.holding.every((one, at) => one === holding[at])) {
    return known.view;
  }
  const bookings = holding.flatMap((replica) => bookingOn(node.id, replica, fetchOf) ?? []);
  const view = viewOf(node, bookings);
  // What is on its way to a node follows from more than the replica itself.
  if (holding.every(({ state }) => !NOT_RUNNING.includes(state.kind))) KNOWN.set(node, { holding, view });
  return view;
}

function bookingOn(node: NodeId, replica: Replica, fetchOf: FetchOf): Booking | undefined {
  const { profile, placement, state } = replica;
  const share = shareOn(placement, node);
  if (share === undefined) return undefined;
  const measured = !NOT_RUNNING.includes(state.kind);
  const leaving = !REPLICA_TRAITS[state.kind].counts;
  const fetch = measured ? undefined : left(fetchOf(replica), state);
  return { profile, share, leaving, measured, fetch };
}

/** What has come already is no longer free on the disk. */
function left(fetch: Fetch | undefined, state: Replica["state"]): Fetch | undefined {
  if (fetch === undefined || state.kind !== "preparing" || state.progress === undefined) return fetch;
  return { ...fetch, bytes: bytes(Math.max(0, fetch.bytes - state.progress.bytesDone)) };
}

/** What one more replica would take of a node. */
export interface Taken {
  readonly profile: ProfileName;
  readonly share: Share;
  readonly fetch: Fetch | undefined;
}

/** The node after one more replica was given to it. */
export const withBooking = (view: NodeView, taken: Taken): NodeView =>
  viewOf(view.node, [...view.bookings, { ...taken, leaving: false, measured: false }]);

function viewOf(node: ClusterNode, bookings: readonly Booking[]): NodeView {
  const { memoryTotal, memoryAvailable } = node.inventory;
  const ofHost = (booking: Booking): number => hostMemory(booking.share, node.inventory.gpus);
  const memoryBooked = sum(bookings, ofHost);
  const host = free({
    total: memoryTotal,
    used: bytes(memoryTotal - memoryAvailable),
    booked: memoryBooked,
    unmeasured: sum(unmeasured(bookings), ofHost),
  });
  const gpus = node.inventory.gpus.map((gpu) => gpuView(gpu, bookings, host));
  return {
    ...{ node, gpus, memoryBooked, memoryFree: host, diskFree: diskFree(node, bookings), bookings },
    topology: topologyOf(node.inventory.gpus),
    idleGpus: gpus.filter(isIdle),
    hasUnified: gpus.some(({ gpu }) => gpu.unified),
    gpuFullness: fullnessOf(gpus.filter(({ gpu }) => !gpu.unified)),
  };
}

/** A whole GPU may have this much of its memory in use by a desktop or a monitor; more is somebody's work. */
const NEARLY_FREE = 0.8;

export const isIdle = ({ gpu, booked, free }: GpuView): boolean =>
  gpu.problem === undefined && booked === 0 && (gpu.unified || free >= gpu.memoryTotal * NEARLY_FREE);

function fullnessOf(gpus: readonly GpuView[]): number | undefined {
  if (gpus.length === 0) return undefined;
  const free = gpus.reduce((all, gpu) => all + gpu.free, 0);
  const total = gpus.reduce((all, { gpu }) => all + gpu.memoryTotal, 0);
  return 1 - free / Math.max(1, total);
}

function diskFree({ inventory }: ClusterNode, bookings: readonly Booking[]): Bytes | undefined {
  const [disk] = inventory.disks;
  if (disk === undefined) return undefined;
  const held = new Set(inventory.weights.map(({ source }) => source));
  // Several of one model fetch it once.
  const coming = new Map(bookings.flatMap(({ fetch }) => (fetch === undefined ? [] : [[fetch.source, fetch.bytes]])));
  const reserved = [...coming].reduce((all, [source, size]) => all + (held.has(source) ? 0 : size), 0);
  return bytes(Math.max(0, disk.free - reserved));
}

/** Of a GPU that several share, for what the driver takes beside them: engines are told fractions, which must sum below one. */
const KEPT = 0.002;

function gpuView(gpu: Gpu, bookings: readonly Booking[], host: Bytes): GpuView {
  const onIt = bookings.filter(({ share }) => share.gpus.includes(gpu.uuid));
  const booked = sum(onIt, ({ share }) => share.gpuMemory);
  // What is booked on a GPU that shares the host's memory is booked there.
  if (gpu.unified) return { gpu, booked, free: host };
  const used = bytes(gpu.memoryTotal - gpu.memoryFree);
  const later = sum(unmeasured(onIt), ({ share }) => share.gpuMemory);
  const all = free({ total: gpu.memoryTotal, used, booked, unmeasured: later });
  const kept = booked === 0 ? 0 : Math.ceil(gpu.memoryTotal * KEPT);
  return { gpu, booked, free: bytes(Math.max(0, all - kept)) };
}

/** Host memory that a placement takes: its own, and that of GPUs which have none of their own. */
export function hostMemory({ memory, gpuMemory, gpus }: Omit<Share, "node">, present: readonly Gpu[]): Bytes {
  const unified = present.filter(({ unified, uuid }) => unified && gpus.includes(uuid)).length;
  return bytes(memory + gpuMemory * unified);
}

interface Usage {
  readonly total: Bytes;
  /** Measured, whoever uses it. */
  readonly used: Bytes;
  /** By our replicas. */
  readonly booked: Bytes;
  /** The part of `booked` that no measurement can hold yet. */
  readonly unmeasured: Bytes;
}

/**
 * The greater of booking and measurement is taken, so that our own engines are not counted twice and those of others are
 * counted at all; what is booked but not running yet comes on top of the measurement.
 */
const free = ({ total, used, booked, unmeasured }: Usage): Bytes =>
  bytes(Math.max(0, total - Math.max(booked, used + unmeasured)));

const unmeasured = (bookings: readonly Booking[]): readonly Booking[] => bookings.filter(({ measured }) => !measured);

const sum = (bookings: readonly Booking[], of: (booking: Booking) => number): Bytes =>
  bytes(bookings.reduce((total, booking) => total + of(booking), 0));

export const byNodeId = (a: NodeView, b: NodeView): number => compareTexts(a.node.id, b.node.id);
