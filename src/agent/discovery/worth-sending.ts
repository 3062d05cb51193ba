import { canonicalJson } from "../../core/fingerprint.ts";
import type { Inventory } from "../../core/node.ts";

/** Free memory and space move all the time. Less than this part of the whole is no news. */
const NOISE = 0.02;

/** Whether the control plane would decide differently for knowing the newer inventory. */
export function isWorthSending(sent: Inventory, now: Inventory): boolean {
  if (canonicalJson(withoutLevels(sent)) !== canonicalJson(withoutLevels(now))) return true;
  const before = levels(sent);
  return levels(now).some(({ free, total }, index) => Math.abs(free - (before[index]?.free ?? 0)) > total * NOISE);
}

const withoutLevels = (inventory: Inventory): unknown => ({
  ...inventory,
  memoryAvailable: 0,
  disks: inventory.disks.map((disk) => ({ ...disk, free: 0 })),
  gpus: inventory.gpus.map((gpu) => ({ ...gpu, memoryFree: 0 })),
});

interface Level {
  readonly free: number;
  readonly total: number;
}

const levels = (inventory: Inventory): readonly Level[] => [
  { free: inventory.memoryAvailable, total: inventory.memoryTotal },
  ...inventory.disks,
  ...inventory.gpus.map(({ memoryFree, memoryTotal }) => ({ free: memoryFree, total: memoryTotal })),
];
