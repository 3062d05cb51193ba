import { splitOn } from "../fit.ts";
import type { NodeView } from "../node-view.ts";
import type { Scorer } from "../rules.ts";

export const binPack: Scorer = {
  name: "bin-pack",
  doc: "The fuller node first, by GPU memory for what runs on GPUs and by the host's for the rest, so that large models find empty ones later.",
  weight: 0.5,
  score: (view, ask) => {
    const onGpus = (splitOn(view, ask)?.count ?? 0) > 0;
    // What has no memory of its own is as full as the host.
    return onGpus ? (view.gpuFullness ?? hostFullness(view)) : hostFullness(view);
  },
};

const hostFullness = ({ node, memoryFree }: NodeView): number =>
  1 - memoryFree / Math.max(1, node.inventory.memoryTotal);
