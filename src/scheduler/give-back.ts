import { bytes } from "../core/ids.ts";
import type { ClusterNode } from "../core/node.ts";
import type { Share } from "../core/replica-state.ts";
import { hostMemory } from "./node-view.ts";

/**
 * The node as it would measure itself without an engine that runs there: what was booked for it is free again. With
 * `sign` −1: as it would with one more.
 */
export function givenBack<N extends ClusterNode>(node: N, share: Share, sign: 1 | -1 = 1): N {
  const { inventory } = node;
  const within = (total: number, free: number) => bytes(Math.min(total, Math.max(0, free)));
  const host = sign * hostMemory(share, inventory.gpus);
  return {
    ...node,
    inventory: {
      ...inventory,
      memoryAvailable: within(inventory.memoryTotal, inventory.memoryAvailable + host),
      gpus: inventory.gpus.map((gpu) =>
        share.gpus.includes(gpu.uuid)
          ? { ...gpu, memoryFree: within(gpu.memoryTotal, gpu.memoryFree + sign * share.gpuMemory) }
          : gpu,
      ),
    },
  };
}
