import { gpusFor } from "../fit.ts";
import type { Scorer } from "../rules.ts";

export const accelerated: Scorer = {
  name: "accelerated",
  doc: "For a profile that leaves GPUs open: a node with a free GPU before one without.",
  weight: 8,
  score: (view, ask) => ((gpusFor(view, ask)?.gpus.length ?? 0) > 0 ? 1 : 0),
};
