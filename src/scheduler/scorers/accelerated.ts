import { splitOn } from "../fit.ts";
import type { Scorer } from "../rules.ts";

export const accelerated: Scorer = {
  name: "accelerated",
  doc: "For a profile that leaves GPUs open: a node with a free GPU before one without.",
  weight: 8,
  score: (view, ask) => ((splitOn(view, ask)?.count ?? 0) > 0 ? 1 : 0),
};
