import type { DesiredReplica } from "../core/desired.ts";
import type { Gpu } from "../core/node.ts";
import type { Launch } from "../engines/engine.ts";

/**
 * Where the replica's GPUs stand among this machine's, and which part of them it may fill. Numbers are told only where they
 * mean the same to everybody: a card that has failed is skipped by some, and a slice of one has none.
 */
export function placeOnGpus(
  { gpus, gpuMemory }: Pick<DesiredReplica, "gpus" | "gpuMemory">,
  found: readonly Gpu[],
): Pick<Launch, "gpuIndexes" | "gpuShare"> {
  const own = gpus.flatMap((uuid) => found.find((gpu) => gpu.uuid === uuid) ?? []);
  if (own.length === 0 || own.length < gpus.length) return {};
  const isNumbered = found.every(({ problem, parent }) => problem === undefined && parent === undefined);
  // Of the smallest, so that it is not more on any.
  const total = Math.min(...own.map(({ memoryTotal }) => memoryTotal));
  const share = gpuMemory === undefined || total === 0 ? 1 : gpuMemory / total;
  return {
    ...(isNumbered ? { gpuIndexes: own.map(({ index }) => index) } : {}),
    ...(share < 1 ? { gpuShare: share } : {}),
  };
}
