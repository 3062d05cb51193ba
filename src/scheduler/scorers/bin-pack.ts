import type { Scorer } from "../rules.ts";

export const binPack: Scorer = {
  name: "bin-pack",
  doc: "The fuller node first, so that large models find empty ones later.",
  weight: 0.5,
  score: ({ node, memoryFree }) => 1 - memoryFree / Math.max(1, node.inventory.memoryTotal),
};
