import type { Filter } from "../rules.ts";

export const alive: Filter = {
  name: "alive",
  doc: "The node's agent is connected.",
  check: ({ node }) => (node.liveness === "connected" ? undefined : `is ${node.liveness}: its agent is silent`),
  remedies: () => [{ kind: "reconnect" }],
};
