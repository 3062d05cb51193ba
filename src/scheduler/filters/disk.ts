import { formatBytes } from "../../core/format.ts";
import { bytes } from "../../core/ids.ts";
import type { Disk } from "../../core/node.ts";
import type { Ask } from "../ask.ts";
import { holds } from "../holds.ts";
import type { NodeView } from "../node-view.ts";
import type { Filter } from "../rules.ts";

export const disk: Filter = {
  name: "disk",
  doc: "The weights are on the node, or a disk of it has room for them.",
  check(view, ask) {
    const roomiest = roomiestOf(view);
    if (lacking(view, ask) === 0 || roomiest === undefined) return undefined;
    return (
      `needs ${formatBytes(ask.weights ?? 0)} of disk for the weights, ` +
      `has ${formatBytes(roomiest.free)} free at most (${roomiest.path})`
    );
  },
  remedies(view, ask) {
    const roomiest = roomiestOf(view);
    return roomiest === undefined ? [] : [{ kind: "free-disk", path: roomiest.path, bytes: bytes(lacking(view, ask)) }];
  },
};

function roomiestOf({ node }: NodeView): Disk | undefined {
  const [first, ...others] = node.inventory.disks;
  return first === undefined ? undefined : others.reduce((best, one) => (one.free > best.free ? one : best), first);
}

function lacking(view: NodeView, ask: Ask): number {
  const roomiest = roomiestOf(view);
  if (ask.weights === undefined || roomiest === undefined || holds(view.node, ask.source)) return 0;
  return Math.max(0, ask.weights - roomiest.free);
}
