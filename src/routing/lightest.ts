import type { Candidate } from "./policy.ts";

/**
 * The candidate of the least load. Ties are common (everything is idle at night), so they rotate: the replica that has
 * waited longest for a request is next. Replicas that were never picked are drawn by chance, or else every router of a
 * fleet would start with the same.
 */
export function lightest<T extends Candidate>(
  candidates: readonly [T, ...T[]],
  loadOf: (candidate: T) => number,
  random: () => number,
): T {
  let [best] = candidates;
  let bestLoad = loadOf(best);
  let equals = 1;
  for (const candidate of candidates) {
    if (candidate === best) continue;
    const load = loadOf(candidate);
    const difference = load - bestLoad || candidate.lastPicked - best.lastPicked;
    equals = difference === 0 ? equals + 1 : difference < 0 ? 1 : equals;
    // Each of n equals ends up chosen with probability 1/n, in one pass and without a list.
    if (difference < 0 || (difference === 0 && random() * equals < 1)) {
      best = candidate;
      bestLoad = load;
    }
  }
  return best;
}
