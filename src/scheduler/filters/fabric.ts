import { fabricsOf } from "../island.ts";
import type { Filter } from "../rules.ts";

export const fabric: Filter = {
  name: "fabric",
  doc: "For a replica over several nodes: the node is on a fabric that its configuration names and that is as it should be.",
  check({ node }, { nodes }) {
    if (nodes === 1 || fabricsOf(node).length > 0) return undefined;
    const { fabrics } = node.inventory;
    if (fabrics.length === 0) return "is on no fabric, and a replica over several nodes stays within one";
    return fabrics.map(({ name, problem }) => `fabric ${name}: ${problem ?? ""}`).join("; ");
  },
  remedies({ node }) {
    const { fabrics } = node.inventory;
    if (fabrics.length === 0) return [{ kind: "name-fabric" }];
    return fabrics.map(({ name }) => ({ kind: "mend-fabric", fabric: name }));
  },
};
