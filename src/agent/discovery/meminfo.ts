import { type Bytes, bytes } from "../../core/ids.ts";

export interface HostMemory {
  readonly total: Bytes;
  /** What programs can still get without pushing others out: MemAvailable, not MemFree. */
  readonly available: Bytes;
}

/** Reads /proc/meminfo. Undefined when it does not say how much there is. */
export function parseMeminfo(text: string): HostMemory | undefined {
  const total = field(text, "MemTotal");
  if (total === undefined) return undefined;
  // Kernels before 3.14 do not estimate what is available.
  const available = field(text, "MemAvailable") ?? field(text, "MemFree") ?? bytes(0);
  return { total, available };
}

function field(text: string, name: string): Bytes | undefined {
  const digits = new RegExp(`^${name}:\\s*(\\d+) kB\\s*$`, "m").exec(text)?.[1];
  return digits === undefined ? undefined : bytes(Number(digits) * 1024);
}

/** The same of one NUMA node, whose lines begin "Node 2 MemTotal:". */
export const parseNodeMeminfo = (text: string): HostMemory | undefined =>
  parseMeminfo(text.replaceAll(/^Node \d+ /gm, ""));

/** What of the host's memory can be had within limits, such as a container's. */
export const within = (
  host: HostMemory,
  limits: readonly { readonly limit: number; readonly used: number }[],
): HostMemory => ({
  total: bytes(Math.min(host.total, ...limits.map(({ limit }) => limit))),
  available: bytes(Math.min(host.available, ...limits.map(({ limit, used }) => Math.max(0, limit - used)))),
});

/** What is left of the host's memory without what belongs to others. */
export function without(host: HostMemory, others: readonly HostMemory[]): HostMemory {
  return {
    total: less(
      host.total,
      others.map(({ total }) => total),
    ),
    available: less(
      host.available,
      others.map(({ available }) => available),
    ),
  };
}

const less = (whole: Bytes, parts: readonly Bytes[]): Bytes =>
  bytes(
    Math.max(
      0,
      parts.reduce<number>((left, part) => left - part, whole),
    ),
  );
