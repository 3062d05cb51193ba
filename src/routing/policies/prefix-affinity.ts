import { z } from "zod";
import { mix } from "../hash.ts";
import { lightest } from "../lightest.ts";
import { type Candidate, definePolicy, type PickContext } from "../policy.ts";

/**
 * An engine reads a prompt only from where its cache ends. So a request goes where the longest beginning of it was worked
 * on; a conversation that nobody knows goes where its key falls, which is the same replica in every router and after a
 * restart. Neither counts for a replica above the bound.
 */
export const prefixAffinity = definePolicy({
  doc: "Send to the replica that has the longest beginning of the prompt in its cache, and a conversation that is new to the router to the one that its key falls to, in every router the same; never to one with more requests in flight than the bound.",
  params: z.strictObject({
    loadFactor: z
      .number()
      .min(1)
      .max(10)
      .default(1.25)
      .describe("A replica may have this many times the mean of requests in flight, and one more."),
  }),
  create: ({ loadFactor }) => ({
    readsPrompt: true,
    pick(candidates, context) {
      const limit = loadLimit(candidates, loadFactor);
      return (
        knownHolder(candidates, context, limit) ??
        byKey(candidates, context, limit) ??
        lightest(candidates, ({ inFlight }) => inFlight, context.random)
      );
    },
  }),
});

/** What a replica may have in flight, the request at hand included. The least loaded one is always below it. */
export function loadLimit(candidates: readonly Candidate[], loadFactor: number): number {
  let total = 1;
  for (const { inFlight } of candidates) total += inFlight;
  return (loadFactor * total) / candidates.length + 1;
}

function knownHolder<T extends Candidate>(
  candidates: readonly [T, ...T[]],
  { prompt, holders, random }: PickContext,
  limit: number,
): T | undefined {
  for (let index = prompt.keys.length - 1; index >= 0; index--) {
    const ids = holders(prompt.keys[index] ?? 0);
    if (ids.length === 0) continue;
    const [first, ...rest] = candidates.filter(({ id, inFlight }) => inFlight + 1 <= limit && ids.includes(id));
    if (first !== undefined) return lightest([first, ...rest], ({ inFlight }) => inFlight, random);
  }
  return undefined;
}

/** Rendezvous hashing: each replica has a score for the key and the best one below the bound wins. A replica that leaves moves only what it had. */
function byKey<T extends Candidate>(
  candidates: readonly [T, ...T[]],
  { prompt: { conversation } }: PickContext,
  limit: number,
): T | undefined {
  if (conversation === undefined) return undefined;
  let best: T | undefined;
  let bestScore = -1;
  for (const candidate of candidates) {
    if (candidate.inFlight + 1 > limit) continue;
    const score = mix(conversation, candidate.idHash);
    if (score > bestScore) {
      best = candidate;
      bestScore = score;
    }
  }
  return best;
}
