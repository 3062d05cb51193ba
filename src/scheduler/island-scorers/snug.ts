import type { IslandScorer } from "../rules.ts";

export const snug: IslandScorer = {
  name: "snug",
  doc: "The island with the fewest nodes left over, so that the large ones stay whole for what needs them.",
  weight: 1,
  score: ({ views }, { nodes }) => 1 / (1 + views.length - nodes),
};
