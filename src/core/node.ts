import type { Bytes, GpuUuid, Millis, NodeId } from "./ids.ts";

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
}

export interface Fabric {
  readonly name: string;
  readonly hcas: readonly string[];
  readonly rateGbps: number;
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

/** A node as the control plane knows it. */
export interface ClusterNode {
  readonly id: NodeId;
  readonly inventory: Inventory;
  readonly liveness: NodeLiveness;
  readonly cordoned: boolean;
  readonly joinedAt: Millis;
  readonly lastSeen: Millis;
}

/** Contract 4: ready, degraded (reasons), unreachable, lost. */
export type NodeState = "ready" | "degraded" | "unreachable" | "lost";

export function nodeState(node: Pick<ClusterNode, "liveness" | "inventory">): NodeState {
  if (node.liveness !== "connected") return node.liveness;
  return node.inventory.problems.length > 0 ? "degraded" : "ready";
}
