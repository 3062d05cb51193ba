import { formatBytes } from "../../core/format.ts";
import { bytes } from "../../core/ids.ts";
import type { Ask } from "../ask.ts";
import { holds } from "../holds.ts";
import type { NodeView } from "../node-view.ts";
import type { Filter } from "../rules.ts";

export const disk: Filter = {
  name: "disk",
  doc: "The weights are on the node, or there is room for them where it fetches weights to, beside those on their way already.",
  check(view, ask) {
    if (lacking(view, ask) === 0) return undefined;
    const [target] = view.node.inventory.disks;
    if (target === undefined || view.diskFree === undefined) return undefined;
    const coming = target.free - view.diskFree;
    const others = coming === 0 ? "" : `, of which ${formatBytes(coming)} are for weights on their way`;
    return (
      `needs ${formatBytes(ask.weights ?? 0)} of disk for the weights, ` +
      `has ${formatBytes(target.free)} free (${target.path})${others}`
    );
  },
  remedies(view, ask) {
    const [target] = view.node.inventory.disks;
    return target === undefined ? [] : [{ kind: "free-disk", path: target.path, bytes: bytes(lacking(view, ask)) }];
  },
};

function lacking({ node, diskFree, bookings }: NodeView, { weights, source }: Ask): number {
  if (weights === undefined || diskFree === undefined || weights <= diskFree) return 0;
  if (holds(node, source) || bookings.some(({ fetch }) => fetch?.source === source)) return 0;
  return weights - diskFree;
}
