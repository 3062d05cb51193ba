import type { MeasuredMemory, NodeMemory } from "../core/measured-memory.ts";
import { type Replica, sharesOf } from "../core/replica-state.ts";
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
  const isSame = found.length === before.length && found.every((one, at) => isAlike(one, before[at]));
  return isSame ? replica : { ...replica, measured: found };
}

function isAlike(one: NodeMemory, other: NodeMemory | undefined): boolean {
  return one === other || (other !== undefined && one.node === other.node && isEqual(one.memory, other.memory));
}

const isEqual = (a: MeasuredMemory, b: MeasuredMemory): boolean =>
  a === b ||
  (a.host === b.host &&
    a.gpus.length === b.gpus.length &&
    a.gpus.every(({ uuid, bytes }, at) => uuid === b.gpus[at]?.uuid && bytes === b.gpus[at].bytes));
