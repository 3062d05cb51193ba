import { createHash } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "./files.ts";

const PIECE_BYTES = 256 * 1024;

/** A file's bytes in order. */
export async function* piecesOf(path: string): AsyncGenerator<Uint8Array, undefined> {
  for await (const piece of createReadStream(path, { highWaterMark: PIECE_BYTES })) yield piece as Uint8Array;
  return undefined;
}

export interface WrittenFile {
  readonly bytes: number;
  /** In lower-case hex. */
  readonly sha256: string;
}

/** Writes the pieces into a new file of mode 0600, and has the disk hold them. Fails when there is such a file already. */
export async function writePieces(path: string, pieces: AsyncIterable<Uint8Array>): Promise<WrittenFile> {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const piece of pieces) {
      hash.update(piece);
      bytes += piece.byteLength;
      await file.writeFile(piece);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}

/** Gives a whole file its name, over whatever has it. Both must be on one file system. */
export async function renameOver(from: string, to: string): Promise<void> {
  await rename(from, to);
  await syncFolder(dirname(to));
}

export async function removeAll(paths: readonly string[]): Promise<void> {
  for (const path of paths) await rm(path, { force: true });
}
