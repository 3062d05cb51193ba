import type { NodeId } from "../core/ids.ts";

/** One peer of a file that is being put together. */
export interface PiecePeer {
  readonly node: NodeId;
  /** What it has. */
  readonly pieces: ReadonlySet<number>;
  /** Pieces that are on their way from it. */
  readonly inFlight: number;
}

export interface PieceWant {
  /** Pieces of the whole file. */
  readonly total: number;
  /** Those that are here or on their way. */
  readonly taken: ReadonlySet<number>;
  /** Of one peer at a time. */
  readonly mostInFlight: number;
  /** From 0 to below 1. */
  readonly random: () => number;
}

/**
 * Which piece to ask for next, and whom: the one that the fewest have, so that what only one node has soon has a second,
 * from the least busy of those. Chance decides between equals, so that many that ask do not all ask for the same.
 */
export function nextPiece(
  peers: readonly PiecePeer[],
  { total, taken, mostInFlight, random }: PieceWant,
): { readonly node: NodeId; readonly index: number } | undefined {
  const free = peers.filter(({ inFlight }) => inFlight < mostInFlight);
  let fewest = Infinity;
  let best: number[] = [];
  for (let index = 0; index < total; index += 1) {
    if (taken.has(index) || !free.some(({ pieces }) => pieces.has(index))) continue;
    const owners = peers.reduce((sum, { pieces }) => sum + (pieces.has(index) ? 1 : 0), 0);
    if (owners > fewest) continue;
    if (owners < fewest) best = [];
    fewest = owners;
    best.push(index);
  }
  const index = best[Math.floor(random() * best.length)];
  if (index === undefined) return undefined;
  const owners = free.filter(({ pieces }) => pieces.has(index));
  const least = Math.min(...owners.map(({ inFlight }) => inFlight));
  const idle = owners.filter(({ inFlight }) => inFlight === least);
  const chosen = idle[Math.floor(random() * idle.length)];
  return chosen === undefined ? undefined : { node: chosen.node, index };
}
