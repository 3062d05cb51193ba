import type { Bytes, GpuUuid, Millis, NodeId } from "./ids.ts";
import type { ModelFacts } from "./model-facts.ts";

export interface Gpu {
  readonly uuid: GpuUuid;
  readonly index: number;
  readonly name: string;
  readonly memoryTotal: Bytes;
  readonly memoryFree: Bytes;
  /** Its memory is the host's own. */
  readonly unified: boolean;
  /** Undefined when healthy; otherwise why nothing may be placed on it, in words. */
  readonly problem: string | undefined;
  readonly driverVersion: string;
  /** Such as "9.0"; "" unknown. */
  readonly computeCapability: string;
  /** As the kernel writes it, such as "0000:1b:00.0"; "" unknown. */
  readonly pciBusId: string;
  /** Undefined: the firmware does not say. */
  readonly numaNode: number | undefined;
  /** To the other GPUs of the node; empty when nobody could tell. */
  readonly links: readonly GpuLink[];
  /** The card that this MIG slice is cut from; undefined for a whole card. */
  readonly parent: GpuUuid | undefined;
}

/** From the closest to the farthest: NVLink, one PCIe bridge, several, the host bridge, the NUMA node, across nodes. */
export const LINK_KINDS = ["nvlink", "pix", "pxb", "phb", "node", "sys", "unknown"] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

export interface GpuLink {
  readonly to: GpuUuid;
  readonly kind: LinkKind;
  /** NVLinks bonded between the two, or between each and the switch; 0 for the other kinds and when it is not known. */
  readonly lanes: number;
}

/** What the configuration says of a fabric. Its name comes from nowhere else: addresses and prefixes prove nothing. */
export interface FabricSpec {
  readonly name: string;
  readonly hcas: readonly string[];
  /** Of one adapter; 0 when it is not known. */
  readonly rateGbps: number;
}

/** A fabric as it was found. */
export interface Fabric extends FabricSpec {
  readonly ports: readonly FabricPort[];
  /** Undefined when everything is as configured; otherwise why no replica over several nodes may use it, in words. */
  readonly problem: string | undefined;
}

export interface FabricPort {
  readonly hca: string;
  readonly port: number;
  /** The kernel's word, such as "ACTIVE", "INIT" or "DOWN"; "" unknown. */
  readonly state: string;
  /** "InfiniBand", "Ethernet", or what else the kernel says. */
  readonly linkLayer: string;
  /** 0 unknown. */
  readonly rateGbps: number;
  readonly pciBusId: string;
  readonly numaNode: number | undefined;
  /** Its IP addresses, as its table of GIDs has them. */
  readonly addresses: readonly string[];
}

/** Where a usable engine build was found, in the order of preference. */
export type EngineOrigin = "configured" | "path" | "opt" | "installed";

export interface EngineBuild {
  readonly name: string;
  readonly version: string;
  readonly origin: EngineOrigin;
  readonly path: string;
  readonly devices: readonly string[];
}

/** A model whose files are whole on the node's disk, as the disk says. */
export interface HeldModel {
  readonly source: string;
  readonly path: string;
  readonly bytes: Bytes;
  /** From its own header; left out when that could not be read. */
  readonly facts?: ModelFacts;
}

export interface Disk {
  readonly path: string;
  readonly total: Bytes;
  readonly free: Bytes;
}

export interface Inventory {
  readonly hostname: string;
  readonly address: string;
  readonly agentVersion: string;
  readonly os: string;
  readonly arch: string;
  readonly cpus: number;
  readonly memoryTotal: Bytes;
  readonly memoryAvailable: Bytes;
  /** The first is the one that weights are fetched to; on the others they are only found. */
  readonly disks: readonly Disk[];
  readonly gpus: readonly Gpu[];
  readonly engines: readonly EngineBuild[];
  readonly weights: readonly HeldModel[];
  readonly fabrics: readonly Fabric[];
  readonly labels: Readonly<Record<string, string>>;
  /** Sentences; any makes the node degraded. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

export type NodeLiveness = "connected" | "unreachable" | "lost";

/** An operator wants the node empty: its replicas are replaced elsewhere, and go when the others are ready. */
export interface NodeDrain {
  readonly since: Millis;
  /** From then on they go anyway. */
  readonly deadline: Millis;
}

/** A node as the control plane knows it. */
export interface ClusterNode {
  readonly id: NodeId;
  readonly inventory: Inventory;
  readonly liveness: NodeLiveness;
  readonly cordoned: boolean;
  /** Left out: it is not being emptied. */
  readonly drain?: NodeDrain;
  readonly joinedAt: Millis;
  readonly lastSeen: Millis;
}

/** Contract 4: ready, degraded (reasons), unreachable, lost. */
export type NodeState = "ready" | "degraded" | "unreachable" | "lost";

export function nodeState(node: Pick<ClusterNode, "liveness" | "inventory">): NodeState {
  if (node.liveness !== "connected") return node.liveness;
  return node.inventory.problems.length > 0 ? "degraded" : "ready";
}
