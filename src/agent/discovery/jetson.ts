import { gpuUuid } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import type { HostMemory } from "./meminfo.ts";

/** CUDA takes an index where a UUID is asked for, and such a board has just one GPU. */
const BOARD_GPU = gpuUuid("0");

/** NVIDIA's boards without nvidia-smi: one GPU, which shares the host's memory. Undefined for any other board. */
export function jetsonGpu(deviceTreeModel: string, host: HostMemory | undefined): Gpu | undefined {
  // The kernel ends the name with a NUL, which must not travel on.
  const name = deviceTreeModel.replaceAll("\0", "").trim();
  if (!/\bNVIDIA\b.*\b(Jetson|Orin|Xavier|Thor|Nano)\b/i.test(name) || host === undefined) return undefined;
  const memory = { memoryTotal: host.total, memoryFree: host.available };
  const unknown = { problem: undefined, driverVersion: "", computeCapability: "", pciBusId: "", numaNode: undefined };
  return { uuid: BOARD_GPU, index: 0, name, ...memory, unified: true, ...unknown, links: [], parent: undefined };
}
