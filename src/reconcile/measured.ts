import type { NodeMemory } from "../core/measured-memory.ts";
import { type Replica, sharesOf } from "../core/replica-state.ts";
import { sameValue } from "../core/same-value.ts";
import { type NodeReports, sightingAt } from "./follow.ts";

/** The replica with what its nodes found it to take, as far as they say something new; else the same object. */
export function measuredReplica(replica: Replica, reports: NodeReports): Replica {
  if (replica.state.kind !== "ready") return replica;
  const before = replica.measured ?? [];
  const found = sharesOf(replica.placement).flatMap(({ node }): readonly NodeMemory[] => {
    const sighting = sightingAt(replica, node, reports);
    const memory = sighting.kind === "present" ? sighting.observed.memory : undefined;
    // A node that has not measured yet, or that is not heard, takes nothing back.
    return memory === undefined ? before.filter((one) => one.node === node) : [{ node, memory }];
  });
  return sameValue(found, before) ? replica : { ...replica, measured: found };
}
