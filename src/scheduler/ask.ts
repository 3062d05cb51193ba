import { type Bytes, bytes, type ProfileName } from "../core/ids.ts";
import type { ClusterNode } from "../core/node.ts";
import { ENGINE_NAMES, type EngineName, type Profile } from "../core/profile.ts";

const GiB = 2 ** 30;
const MiB = 2 ** 20;
/** What an engine takes beyond its weights: a fifth for the KV cache and compute buffers, and a fixed part for itself. */
const OVERHEAD_FACTOR = 1.2;
const OVERHEAD_FIXED = 512 * MiB;
/** Booked when nothing is known of the weights. Wrong either way, but no two replicas of it are stacked without end. */
const UNKNOWN_WEIGHTS = 1 * GiB;

/** What one replica needs of one node. */
export interface Ask {
  readonly profile: ProfileName;
  readonly gpus: GpuAsk;
  /** Host memory, when it runs on the CPU and when it runs on GPUs. */
  readonly memory: { readonly onCpu: Bytes; readonly onGpu: Bytes };
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Any of them will do. */
  readonly engines: readonly EngineName[];
  /** Engines that a node without them can install. */
  readonly installable: readonly string[];
  readonly source: string;
  /** Of the weights on disk; undefined: not known yet. */
  readonly weights: Bytes | undefined;
}

export interface GpuAsk {
  readonly count: number;
  /** Of each; "whole": nobody else on it. */
  readonly memory: Bytes | "whole";
  /** False: the CPU will do when there are no GPUs free. */
  readonly required: boolean;
}

/**
 * What a profile asks for, with the gaps filled in:
 * - memory that is left out comes from the size of the weights on a node that holds them (× 1.2 + 512 MiB), else 1 GiB;
 * - GPUs that are left out: one when a node has one free, else the CPU;
 * - the GPU memory of GPUs that are asked for by number, or of a model whose size nobody knows: whole GPUs.
 *
 * @param installable names of the engines that nodes can install
 */
export function askOf(profile: Profile, nodes: readonly ClusterNode[], installable: readonly string[]): Ask {
  const weights = heldBytes(profile.model.source, nodes);
  const estimate = weights === undefined ? undefined : bytes(Math.ceil(weights * OVERHEAD_FACTOR) + OVERHEAD_FIXED);
  const { gpus, gpuMemory, memory } = profile.resources;
  return {
    profile: profile.name,
    gpus: {
      count: gpus ?? 1,
      memory: gpuMemory ?? (gpus === undefined ? (estimate ?? "whole") : "whole"),
      required: gpus !== undefined,
    },
    memory: {
      onCpu: memory ?? estimate ?? bytes(UNKNOWN_WEIGHTS),
      onGpu: memory ?? bytes(UNKNOWN_WEIGHTS),
    },
    nodeSelector: profile.nodeSelector,
    engines: profile.engine === "auto" ? ENGINE_NAMES : [profile.engine],
    installable,
    source: profile.model.source,
    weights,
  };
}

/** The size of a model according to the nodes that hold it; the largest where they differ. */
function heldBytes(source: string, nodes: readonly ClusterNode[]): Bytes | undefined {
  const sizes = nodes.flatMap(({ inventory }) =>
    inventory.weights.filter((held) => held.source === source && held.bytes > 0).map((held) => held.bytes),
  );
  return sizes.length === 0 ? undefined : bytes(Math.max(...sizes));
}
