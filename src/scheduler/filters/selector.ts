import type { Filter } from "../rules.ts";

export const selector: Filter = {
  name: "selector",
  doc: "The node has every label of the profile's node_selector.",
  check({ node }, { nodeSelector }) {
    const { labels } = node.inventory;
    for (const [label, wanted] of Object.entries(nodeSelector)) {
      const has = Object.hasOwn(labels, label) ? labels[label] : undefined;
      if (has === undefined) return `has no label ${label}; node_selector wants ${label}: ${wanted}`;
      if (has !== wanted) return `has the label ${label}: ${has}; node_selector wants ${wanted}`;
    }
    return undefined;
  },
};
