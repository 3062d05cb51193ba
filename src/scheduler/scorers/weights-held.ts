import { holds } from "../holds.ts";
import type { Scorer } from "../rules.ts";

export const weightsHeld: Scorer = {
  name: "weights-held",
  doc: "A node that holds the model before one that must first fetch it.",
  weight: 1.5,
  score: ({ node }, { source }) => (holds(node, source) ? 1 : 0),
};
