import { createHash } from "node:crypto";
import type { PartFile } from "./part-file.ts";
import { createPieceHasher, type PieceHasher } from "./piece-hashes.ts";
import { prefixOf } from "./ranges.ts";

const STEP_BYTES = 1024 * 1024;

export interface HashedFile {
  /** Hex. */
  readonly sha256: string;
  readonly bytes: number;
}

/**
 * The SHA-256 of a file that is being written in no particular order: it follows the part that reaches from the
 * beginning without a hole, so that at the end of the download little is left to read.
 */
export interface FrontierHash {
  /** Goes on hashing in the background as far as there is something to hash; with another part file, from its start. */
  follow(part: PartFile): void;
  /** Once everything is written. */
  finish(part: PartFile): Promise<HashedFile>;
  /** Of the pieces of that part file that were hashed by now, from the first on; none when they are not wanted. */
  pieces(part: PartFile): readonly string[];
}

/** `piecesOf`: the size of the whole file when the hashes of its pieces are wanted too. */
export function createFrontierHash(piecesOf: () => number | undefined = () => undefined): FrontierHash {
  let current: { readonly part: PartFile; readonly hash: OneHash } | undefined;
  const hashOf = (part: PartFile): OneHash => {
    if (current?.part !== part) current = { part, hash: hashPart(part, piecesOf()) };
    return current.hash;
  };
  return {
    follow(part) {
      // A disk that cannot be read says so again in finish(), where someone listens.
      hashOf(part)
        .advance()
        .catch(() => undefined);
    },
    finish: (part) => hashOf(part).finish(),
    pieces: (part) => (current?.part === part ? current.hash.pieces() : []),
  };
}

interface OneHash {
  advance(): Promise<void>;
  finish(): Promise<HashedFile>;
  pieces(): readonly string[];
}

function hashPart(part: PartFile, size: number | undefined): OneHash {
  const hash = createHash("sha256");
  const pieces: PieceHasher | undefined = size === undefined ? undefined : createPieceHasher(size);
  const buffer = Buffer.allocUnsafe(STEP_BYTES);
  let hashed = 0;
  let running: Promise<void> | undefined;

  const run = async (): Promise<void> => {
    for (;;) {
      const size = Math.min(buffer.length, prefixOf(part.written()) - hashed);
      if (size <= 0) return;
      const count = await part.read(buffer.subarray(0, size), hashed);
      // Cut short from outside: the number of bytes will say so.
      if (count === 0) return;
      hash.update(buffer.subarray(0, count));
      pieces?.update(buffer.subarray(0, count));
      hashed += count;
    }
  };
  const advance = (): Promise<void> =>
    (running ??= run().finally(() => {
      running = undefined;
    }));

  return {
    advance,
    pieces: () => pieces?.hashes() ?? [],
    async finish() {
      await running?.catch(() => undefined);
      await advance();
      return { sha256: hash.digest("hex"), bytes: hashed };
    },
  };
}
