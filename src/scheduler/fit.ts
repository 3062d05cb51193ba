import { type Bytes, bytes } from "../core/ids.ts";
import type { Placement } from "../core/replica-state.ts";
import type { Ask, GpuAsk } from "./ask.ts";
import { compareIds, type GpuView, type NodeView } from "./node-view.ts";

/** A whole GPU may have this much of its memory in use by a desktop or a monitor; more is somebody's work. */
const NEARLY_FREE = 0.8;

/** The GPUs of the node that the ask would get; undefined: too few. Empty: it would run on the CPU. */
export function gpusFor(view: NodeView, { gpus }: Ask): readonly GpuView[] | undefined {
  const fitting = view.gpus.filter((gpu) => isFitting(gpu, gpus));
  if (fitting.length < gpus.count) return gpus.required ? undefined : [];
  // The emptiest first: estimates are estimates, and a neighbour that needs more than it said harms only itself.
  return fitting.toSorted((a, b) => b.free - a.free || compareIds(a.gpu.uuid, b.gpu.uuid)).slice(0, gpus.count);
}

export function isFitting({ gpu, booked, free }: GpuView, { memory }: GpuAsk): boolean {
  if (gpu.problem !== undefined) return false;
  if (memory !== "whole") return free >= memory;
  return booked === 0 && (gpu.unified || free >= gpu.memoryTotal * NEARLY_FREE);
}

/** What would be booked on the node; undefined: its GPUs are too few. */
export function bookingFor(view: NodeView, ask: Ask): Placement | undefined {
  const gpus = gpusFor(view, ask);
  if (gpus === undefined) return undefined;
  return {
    node: view.node.id,
    gpus: gpus.map(({ gpu }) => gpu.uuid),
    memory: gpus.length === 0 ? ask.memory.onCpu : ask.memory.onGpu,
    gpuMemory: gpuMemoryOf(gpus, ask),
  };
}

/** The largest of the chosen ones, so that nothing is left of any when they are taken whole. */
function gpuMemoryOf(gpus: readonly GpuView[], ask: Ask): Bytes {
  if (gpus.length === 0) return bytes(0);
  if (ask.gpus.memory !== "whole") return ask.gpus.memory;
  // All that a unified GPU could give is the host's memory, of which the replica's own part is booked apart.
  const unifiedShare = (free: Bytes): number => Math.max(0, Math.floor((free - ask.memory.onGpu) / gpus.length));
  return bytes(Math.max(...gpus.map(({ gpu, free }) => (gpu.unified ? unifiedShare(free) : gpu.memoryTotal))));
}
