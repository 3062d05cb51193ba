import type { Gpu } from "../core/node.ts";
import { type Distance, distanceBetween, NUMA_NODE, NVLINK, PCIE_SWITCH } from "./gpu-distance.ts";

/** How the GPUs of a node lie to each other, by their places in the list. */
export interface Topology {
  /** Of each two. */
  readonly distances: readonly (readonly Distance[])[];
  /** The closest circles that there are: by NVLink, else by PCIe switches, else by NUMA nodes, else all of them together. */
  readonly groups: readonly (readonly number[])[];
  /** For one GPU, for two and so on: from the best one of them, so far it is to the last that it takes. */
  readonly nearest: readonly Distance[];
}

/** Inventories stay as they are, and thousands of placements look at the same one. */
const KNOWN = new WeakMap<readonly Gpu[], Topology>();

export function topologyOf(gpus: readonly Gpu[]): Topology {
  const topology = KNOWN.get(gpus) ?? findTopology(gpus);
  KNOWN.set(gpus, topology);
  return topology;
}

function findTopology(gpus: readonly Gpu[]): Topology {
  const distances = gpus.map((a) => gpus.map((b) => (a === b ? 0 : distanceBetween(a, b))));
  const closest = Math.min(...distances.flatMap((row, a) => row.filter((_, b) => a !== b)));
  const limit = [NVLINK, PCIE_SWITCH, NUMA_NODE].find((each) => closest < each) ?? Infinity;
  return { distances, groups: circles(distances, limit), nearest: nearestIn(distances) };
}

function nearestIn(distances: Topology["distances"]): readonly Distance[] {
  const sorted = distances.map((row) => row.toSorted((a, b) => a - b));
  return distances.map((_, at) => Math.min(...sorted.map((row) => row[at] ?? 0)));
}

/** Who can be reached from whom in steps that are each shorter than the limit. */
function circles(distances: Topology["distances"], limit: Distance): readonly (readonly number[])[] {
  const left = new Set(distances.keys());
  const groups: (readonly number[])[] = [];
  for (const first of left) {
    const group = [first];
    left.delete(first);
    for (const at of group) {
      for (const other of left) {
        if ((distances[at]?.[other] ?? Infinity) >= limit) continue;
        group.push(other);
        left.delete(other);
      }
    }
    groups.push(group.toSorted((a, b) => a - b));
  }
  return groups;
}
