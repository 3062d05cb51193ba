import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { createPieceHasher } from "./fetch/piece-hashes.ts";

export interface HashedPieces {
  /** Hex, of the whole file. */
  readonly sha256: string;
  /** Hex, of each piece. */
  readonly pieces: readonly string[];
}

const CHUNK_BYTES = 1024 * 1024;

/** The file's hash and those of its pieces in one reading. Rejects with the system's error, or when the signal aborts. */
export async function hashPieces(path: string, size: number, signal?: AbortSignal): Promise<HashedPieces> {
  const hash = createHash("sha256");
  const pieces = createPieceHasher(size);
  const chunks = createReadStream(path, { highWaterMark: CHUNK_BYTES, ...(signal === undefined ? {} : { signal }) });
  for await (const chunk of chunks) {
    hash.update(chunk as Buffer);
    pieces.update(chunk as Buffer);
  }
  return { sha256: hash.digest("hex"), pieces: pieces.hashes() };
}
