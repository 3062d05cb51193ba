/** Bytes of an answer: as they are, or as text with a character for each (latin-1). */
export type Piece = Buffer | string;

/** All of it, or a part as `slice` has it. */
export function textOf(piece: Piece, from?: number, to?: number): string {
  if (typeof piece === "string") return from === undefined ? piece : piece.slice(from, to);
  return (from === undefined ? piece : piece.subarray(from, to)).toString("latin1");
}

export const bytesOf = (piece: Piece): Buffer => (typeof piece === "string" ? Buffer.from(piece, "latin1") : piece);
