import { z } from "zod";
import { lightest } from "../lightest.ts";
import { type Candidate, definePolicy } from "../policy.ts";

/** Routers that see only their own requests and all chose the least loaded would all choose the same. */
export const powerOfTwo = definePolicy({
  doc: "Draw two replicas by chance and send to the one with fewer requests in flight: for many routers that do not know of each other's requests.",
  params: z.strictObject({}),
  create: () => ({
    readsPrompt: false,
    pick(candidates, { random }) {
      const drawn = drawTwo(candidates, random);
      return lightest(drawn, ({ inFlight }) => inFlight, random);
    },
  }),
});

function drawTwo<T extends Candidate>(candidates: readonly [T, ...T[]], random: () => number): readonly [T, ...T[]] {
  const first = Math.floor(random() * candidates.length);
  const step = 1 + Math.floor(random() * (candidates.length - 1));
  const a = candidates[first] ?? candidates[0];
  return candidates.length === 1 ? [a] : [a, candidates[(first + step) % candidates.length] ?? a];
}
