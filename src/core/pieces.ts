/** The parts of a file that have a hash of their own. All nodes cut a file of the same size in the same way. */

const SMALLEST_PIECE = 4 * 1024 * 1024;
const LARGEST_PIECE = 16 * 1024 * 1024;
/** Above that many pieces they become larger, until they would be a burden to hold in memory. */
const MANY_PIECES = 1024;

/** A power of two from 4 MiB to 16 MiB. */
export function pieceBytesOf(size: number): number {
  let piece = SMALLEST_PIECE;
  while (piece < LARGEST_PIECE && size > piece * MANY_PIECES) piece *= 2;
  return piece;
}

export const pieceCount = (size: number): number => Math.ceil(size / pieceBytesOf(size));

/** The bytes of one piece, from `start` up to, not including, `end`. */
export function pieceRange(size: number, index: number): { readonly start: number; readonly end: number } {
  const piece = pieceBytesOf(size);
  return { start: Math.min(size, index * piece), end: Math.min(size, (index + 1) * piece) };
}
