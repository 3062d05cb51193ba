import { gpusFor, splitOn } from "../fit.ts";
import { farthestOf, nearestOf } from "../gpu-choice.ts";
import type { Scorer } from "../rules.ts";

/** Two GPUs that have only the way between processors are as far from each other as it gets. */
const FARTHEST = 6;

export const linked: Scorer = {
  name: "linked",
  doc: "For a replica on several GPUs: a node whose free ones are joined by NVLink before one where they meet over PCIe or between processors.",
  weight: 3,
  score(view, ask) {
    // Looked up before anything is chosen: of one GPU there is nothing to compare.
    if ((splitOn(view, ask)?.count ?? 0) < 2) return 0;
    return 1 - farthestOf(view, gpusFor(view, ask)?.gpus ?? []) / FARTHEST;
  },
  most(view, ask) {
    const count = splitOn(view, ask)?.count ?? 0;
    return count < 2 ? 0 : 1 - nearestOf(view, count) / FARTHEST;
  },
};
