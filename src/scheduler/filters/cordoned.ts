import type { Filter } from "../rules.ts";

export const cordoned: Filter = {
  name: "cordoned",
  doc: "An operator has not closed the node to new replicas.",
  check: ({ node }) => (node.cordoned ? "is cordoned: open it with `llmgw ctl uncordon`" : undefined),
  remedies: () => [{ kind: "uncordon" }],
};
