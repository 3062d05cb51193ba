import { formatBytes } from "../../core/format.ts";
import { holds } from "../holds.ts";
import type { Filter } from "../rules.ts";

export const disk: Filter = {
  name: "disk",
  doc: "The weights are on the node, or a disk of it has room for them.",
  check({ node }, ask) {
    const { disks } = node.inventory;
    if (ask.weights === undefined || disks.length === 0 || holds(node, ask.source)) return undefined;
    const roomiest = disks.reduce((best, one) => (one.free > best.free ? one : best));
    if (roomiest.free >= ask.weights) return undefined;
    return (
      `needs ${formatBytes(ask.weights)} of disk for the weights, ` +
      `has ${formatBytes(roomiest.free)} free at most (${roomiest.path})`
    );
  },
};
