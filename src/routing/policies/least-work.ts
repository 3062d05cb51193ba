import { z } from "zod";
import { lightest } from "../lightest.ts";
import { definePolicy } from "../policy.ts";

export const leastWork = definePolicy({
  doc: "Send to the replica with the least work before it: requests in flight, and prompts that it has not read yet by their length; equals take turns.",
  params: z.strictObject({
    tokensPerRequest: z
      .number()
      .min(1)
      .default(512)
      // Writing is as slow for 500 tokens as reading is for many thousands, but an engine writes many answers at once.
      .describe("How many unread prompt tokens weigh as much as one request in flight."),
  }),
  create: ({ tokensPerRequest }) => ({
    readsPrompt: false,
    pick: (candidates, { random }) =>
      lightest(candidates, ({ inFlight, queuedTokens }) => inFlight * tokensPerRequest + queuedTokens, random),
  }),
});
