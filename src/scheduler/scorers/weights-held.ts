import { holds } from "../holds.ts";
import type { Scorer } from "../rules.ts";

/** So many bytes to move weigh half as much as everything: what a fast line brings in half a minute. */
const HALF = 4 * 2 ** 30;

export const weightsHeld: Scorer = {
  name: "weights-held",
  doc: "The fewer bytes of the model the node must first fetch, the better: one that holds it comes first, and of a small model it hardly matters.",
  weight: 1.5,
  score({ node }, { source, weights }) {
    if (holds(node, source)) return 1;
    return weights === undefined ? 0 : HALF / (HALF + weights);
  },
};
