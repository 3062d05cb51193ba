import type { ClusterNode } from "../core/node.ts";

/** Whether the node's disk has the whole model. */
export const holds = ({ inventory }: ClusterNode, source: string): boolean =>
  inventory.weights.some((held) => held.source === source);
