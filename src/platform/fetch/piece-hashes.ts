import { createHash, type Hash } from "node:crypto";
import { pieceBytesOf, pieceCount } from "../../core/pieces.ts";

/** The hashes of a file's pieces, from its bytes in order. */
export interface PieceHasher {
  update(chunk: Uint8Array): void;
  /** Hex, of the pieces that are complete by now, from the first on. */
  hashes(): readonly string[];
}

/** `size` is of the whole file; an empty file has no pieces. */
export function createPieceHasher(size: number): PieceHasher {
  const piece = pieceBytesOf(size);
  const count = pieceCount(size);
  const hashes: string[] = [];
  let current: Hash = createHash("sha256");
  let seen = 0;
  const endOfPiece = (): number => Math.min(size, (hashes.length + 1) * piece);
  return {
    update(chunk) {
      let rest = chunk;
      while (rest.length > 0 && hashes.length < count) {
        const part = rest.subarray(0, endOfPiece() - seen);
        current.update(part);
        seen += part.length;
        rest = rest.subarray(part.length);
        if (seen < endOfPiece()) return;
        hashes.push(current.digest("hex"));
        current = createHash("sha256");
      }
    },
    hashes: () => hashes,
  };
}
