import { type Gpu, LINK_KINDS, type LinkKind } from "../core/node.ts";

/** What one GPU needs for the other's memory, relative to others of the same node; below 1 where NVLink does. */
export type Distance = number;

/** Below it two GPUs of a node are joined by NVLink. */
export const NVLINK: Distance = 1;
/** Below it they are behind the same PCIe switches. */
export const PCIE_SWITCH: Distance = 2.5;
/** Below it they are known to be at the same NUMA node. */
export const NUMA_NODE: Distance = 4.45;

const SAME_NODE = 4;
const OTHER_NODE = 5;
/** What nobody knows is neither near nor far. */
const UNKNOWN = 4.5;
/** What the places on the bus can add: never as much as a step from one kind of link to the next. */
const BUS = 0.4;
/** More lanes than any GPU has to another. */
const MOST_LANES = 20;
const BUSES = 256;

/** By the links where they are known, else by NUMA node and place on the PCIe bus. */
export function distanceBetween(a: Gpu, b: Gpu): Distance {
  const link = a.links.find(({ to }) => to === b.uuid) ?? b.links.find(({ to }) => to === a.uuid);
  if (link !== undefined && link.kind === "nvlink") return 0.95 * (1 - Math.min(link.lanes, MOST_LANES) / MOST_LANES);
  if (link !== undefined && link.kind !== "unknown") return LINK_KINDS.indexOf(link.kind satisfies LinkKind);
  return byNode(a, b) + BUS * busDistance(a.pciBusId, b.pciBusId);
}

function byNode(a: Gpu, b: Gpu): Distance {
  if (a.numaNode === undefined || b.numaNode === undefined) return UNKNOWN;
  return a.numaNode === b.numaNode ? SAME_NODE : OTHER_NODE;
}

/** From 0 to 1; 0 also where a place is not known. */
function busDistance(a: string, b: string): number {
  const [ofA, ofB] = [placeOf(a), placeOf(b)];
  if (ofA === undefined || ofB === undefined) return 0;
  return ofA.domain === ofB.domain ? Math.abs(ofA.bus - ofB.bus) / BUSES : 1;
}

/** Of an address such as "0000:1b:00.0". */
function placeOf(address: string): { readonly domain: string; readonly bus: number } | undefined {
  const [, domain, bus] = /^([\da-f]+):([\da-f]{2}):/i.exec(address) ?? [];
  return domain === undefined || bus === undefined ? undefined : { domain, bus: Number.parseInt(bus, 16) };
}
