import type { Ask } from "../ask.ts";
import type { NodeView } from "../node-view.ts";
import type { Filter } from "../rules.ts";

export const selector: Filter = {
  name: "selector",
  doc: "The node has every label of the profile's node_selector.",
  check(view, ask) {
    const [first] = missing(view, ask);
    if (first === undefined) return undefined;
    const { label, wanted, has } = first;
    if (has === undefined) return `has no label ${label}; node_selector wants ${label}: ${wanted}`;
    return `has the label ${label}: ${has}; node_selector wants ${wanted}`;
  },
  remedies(view, ask) {
    const all = missing(view, ask);
    return [
      { kind: "add-labels", labels: Object.fromEntries(all.map(({ label, wanted }) => [label, wanted])) },
      { kind: "drop-selector", labels: all.map(({ label }) => label) },
    ];
  },
};

interface Missing {
  readonly label: string;
  readonly wanted: string;
  readonly has: string | undefined;
}

function missing({ node }: NodeView, { nodeSelector }: Ask): readonly Missing[] {
  const { labels } = node.inventory;
  return Object.entries(nodeSelector).flatMap(([label, wanted]) => {
    const has = Object.hasOwn(labels, label) ? labels[label] : undefined;
    return has === wanted ? [] : [{ label, wanted, has }];
  });
}
