import { z } from "zod";
import { lightest } from "../lightest.ts";
import { definePolicy } from "../policy.ts";

export const leastInFlight = definePolicy({
  doc: "Send to the replica with the fewest requests in flight; equals take turns.",
  params: z.strictObject({}),
  create: () => ({
    readsPrompt: false,
    pick: (candidates, { random }) => lightest(candidates, ({ inFlight }) => inFlight, random),
  }),
});
