import type { Filter } from "../rules.ts";

export const split: Filter = {
  name: "split",
  doc: "The model can be cut over GPUs as the profile has it, by what its header says once that is known.",
  check: (_, { needs: { blocked } }) => (blocked === undefined ? undefined : `could not run it: ${blocked}`),
  // What would do is in the sentence: it is the profile that has to change, whatever the node.
  remedies: () => [],
};
