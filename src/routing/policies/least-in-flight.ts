import { z } from "zod";
import { definePolicy } from "../policy.ts";

/**
 * Ties are common (everything is idle at night), so they rotate: the replica that has waited longest for a request is
 * next. Replicas that were never picked are drawn by chance, or else every router of a fleet would start with the same.
 */
export const leastInFlight = definePolicy({
  doc: "Send to the replica with the fewest requests in flight; equals take turns.",
  params: z.strictObject({}),
  create: () => ({
    pick(candidates, random) {
      let [best] = candidates;
      let equals = 1;
      for (const candidate of candidates) {
        if (candidate === best) continue;
        const difference = candidate.inFlight - best.inFlight || candidate.lastPicked - best.lastPicked;
        equals = difference === 0 ? equals + 1 : difference < 0 ? 1 : equals;
        // Each of n equals ends up chosen with probability 1/n, in one pass and without a list.
        if (difference < 0 || (difference === 0 && random() * equals < 1)) best = candidate;
      }
      return best;
    },
  }),
});
