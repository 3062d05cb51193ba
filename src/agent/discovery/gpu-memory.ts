import { type Bytes, bytes } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import type { HostMemory } from "./meminfo.ts";

/** What a source says of a card's memory. */
export interface Sizes {
  readonly total: Bytes | undefined;
  readonly free: Bytes | undefined;
  readonly used: Bytes | undefined;
}

export type GpuMemory = Pick<Gpu, "memoryTotal" | "memoryFree" | "unified">;

/** Boards whose GPU has no memory of its own. A size that equals the host's proves nothing: small hosts have big cards. */
export const isIntegrated = (name: string): boolean => /\b(GB10|Orin|Thor|Xavier|Tegra|nvgpu|N1X)\b/i.test(name);

export function ownMemory({ total = bytes(0), free, used }: Sizes): GpuMemory {
  const rest = used === undefined ? undefined : bytes(Math.max(0, total - used));
  return { memoryTotal: total, memoryFree: free ?? rest ?? total, unified: false };
}

/** The driver counts only its own side of shared memory, so the smaller of its word and the kernel's is right. */
export function sharedMemory({ total, free }: Sizes, host: HostMemory | undefined): GpuMemory {
  const least = (a: Bytes | undefined, b: Bytes | undefined): Bytes => bytes(Math.min(a ?? b ?? 0, b ?? a ?? 0));
  return { memoryTotal: least(total, host?.total), memoryFree: least(free, host?.available), unified: true };
}
