import { type Bytes, bytes } from "../core/ids.ts";
import type { Share } from "../core/replica-state.ts";
import type { Ask, GpuShare } from "./ask.ts";
import { compareIds, type GpuView, type NodeView } from "./node-view.ts";

/** A whole GPU may have this much of its memory in use by a desktop or a monitor; more is somebody's work. */
const NEARLY_FREE = 0.8;

/** GPUs of a node, and what is taken of each. */
export interface GpuPick {
  readonly gpus: readonly GpuView[];
  readonly memory: GpuShare["memory"];
}

const ON_CPU: GpuPick = { gpus: [], memory: bytes(0) };

/** The GPUs of the node that the ask would get; undefined: too few. None: it would run on the CPU. */
export function gpusFor(view: NodeView, { gpus, memory: host }: Pick<Ask, "gpus" | "memory">): GpuPick | undefined {
  for (const { count, memory } of gpus.choices) {
    const fitting = view.gpus.filter((gpu) => isFitting(gpu, memory));
    if (fitting.length < count) continue;
    // The emptiest first: estimates are estimates, and a neighbour that needs more than it said harms only itself.
    const pick = { gpus: fitting.toSorted(emptiest).slice(0, count), memory };
    // Where the GPUs' memory is the host's, what is over for the process may be too little, and the CPU would do.
    if (gpus.required || ofHost(pick) + host.onGpu <= view.memoryFree || ofHost(pick) === 0) return pick;
  }
  return gpus.required ? undefined : ON_CPU;
}

/** What the picked GPUs take of the host's own memory. */
const ofHost = ({ gpus, memory }: GpuPick): number =>
  memory === "whole" ? 0 : memory * gpus.filter(({ gpu }) => gpu.unified).length;

export const emptiest = (a: GpuView, b: GpuView): number => b.free - a.free || compareIds(a.gpu.uuid, b.gpu.uuid);

export function isFitting({ gpu, booked, free }: GpuView, memory: GpuShare["memory"]): boolean {
  if (gpu.problem !== undefined) return false;
  if (memory !== "whole") return free >= memory;
  return booked === 0 && (gpu.unified || free >= gpu.memoryTotal * NEARLY_FREE);
}

/** What would be booked on the node; undefined: its GPUs are too few. */
export function bookingFor(view: NodeView, ask: Ask): Share | undefined {
  const pick = gpusFor(view, ask);
  if (pick === undefined) return undefined;
  return {
    node: view.node.id,
    gpus: pick.gpus.map(({ gpu }) => gpu.uuid),
    memory: pick.gpus.length === 0 ? ask.memory.onCpu : ask.memory.onGpu,
    gpuMemory: gpuMemoryOf(pick, ask),
  };
}

/** The largest of the chosen ones, so that nothing is left of any when they are taken whole. */
function gpuMemoryOf({ gpus, memory }: GpuPick, ask: Ask): Bytes {
  if (gpus.length === 0) return bytes(0);
  if (memory !== "whole") return memory;
  // All that a unified GPU could give is the host's memory, of which the replica's own part is booked apart.
  const unifiedShare = (free: Bytes): number => Math.max(0, Math.floor((free - ask.memory.onGpu) / gpus.length));
  return bytes(Math.max(...gpus.map(({ gpu, free }) => (gpu.unified ? unifiedShare(free) : gpu.memoryTotal))));
}
