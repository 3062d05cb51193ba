import { basename, dirname, join } from "node:path";
import { pieceCount } from "../../../core/pieces.ts";
import { readTextIfThere, removeIfThere, writeFileAtomic } from "../../../platform/files.ts";
import { sha256Of } from "../../../platform/sha256.ts";
import { fieldsOf, listOf, parseJson, textOf } from "../../../wire/json-value.ts";

/** The hashes of a file's pieces, kept beside it from when the whole was last seen to be right. */
export interface KnownPieces {
  readonly bytes: number;
  /** Of the whole, in hex. */
  readonly sha256: string;
  readonly pieces: readonly string[];
}

const VERSION = 1;

/** Hidden, so that no engine reads it as part of the model. */
export const piecePath = (path: string): string => join(dirname(path), `.${basename(path)}.pieces`);

/** Nothing is written for a file of one piece: its hash is that of the whole. */
export async function writePieceFile(path: string, known: KnownPieces): Promise<void> {
  if (known.pieces.length <= 1) return;
  await writeFileAtomic(piecePath(path), `${JSON.stringify({ version: VERSION, ...known, seal: sealOf(known) })}\n`);
}

/** Undefined when there is none, or it is not of these bytes, or not as it was written: a wrong hash would blame another node. */
export async function readPieceFile(
  path: string,
  file: Omit<KnownPieces, "pieces">,
): Promise<readonly string[] | undefined> {
  if (pieceCount(file.bytes) === 1) return [file.sha256];
  const text = await readTextIfThere(piecePath(path)).catch(() => undefined);
  const raw = fieldsOf(parseJson(text ?? ""));
  const pieces = listOf(raw["pieces"]).map(textOf);
  const isOf = raw["version"] === VERSION && raw["bytes"] === file.bytes && raw["sha256"] === file.sha256;
  const isWhole = isOf && pieces.length === pieceCount(file.bytes);
  return isWhole && raw["seal"] === sealOf({ ...file, pieces }) ? pieces : undefined;
}

export const removePieceFile = (path: string): Promise<void> => removeIfThere(piecePath(path));

const sealOf = ({ bytes, sha256, pieces }: KnownPieces): string =>
  sha256Of([String(bytes), sha256, ...pieces].join("\n"));
