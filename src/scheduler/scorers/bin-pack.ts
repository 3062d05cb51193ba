import { splitOn } from "../fit.ts";
import type { NodeView } from "../node-view.ts";
import type { Scorer } from "../rules.ts";

export const binPack: Scorer = {
  name: "bin-pack",
  doc: "The fuller node first, by GPU memory for what runs on GPUs and by the host's for the rest, so that large models find empty ones later.",
  weight: 0.5,
  score: (view, ask) => ((splitOn(view, ask)?.count ?? 0) > 0 ? gpuFullness(view) : hostFullness(view)),
};

const hostFullness = ({ node, memoryFree }: NodeView): number =>
  1 - memoryFree / Math.max(1, node.inventory.memoryTotal);

function gpuFullness(view: NodeView): number {
  const own = view.gpus.filter(({ gpu }) => !gpu.unified);
  // What has no memory of its own is as full as the host.
  if (own.length === 0) return hostFullness(view);
  const free = own.reduce((sum, gpu) => sum + gpu.free, 0);
  const total = own.reduce((sum, { gpu }) => sum + gpu.memoryTotal, 0);
  return 1 - free / Math.max(1, total);
}
