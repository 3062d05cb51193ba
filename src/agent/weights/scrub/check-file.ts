import { createHash } from "node:crypto";
import { join } from "node:path";
import { millis } from "../../../core/ids.ts";
import { pieceCount, pieceRange } from "../../../core/pieces.ts";
import type { SharedFile } from "../../../core/sharing.ts";
import { type Clock, pause } from "../../../platform/clock.ts";
import { createPieceHasher } from "../../../platform/fetch/piece-hashes.ts";
import { plainFileBytes, readPlainFile } from "../../../platform/plain-file.ts";
import { sha256Of } from "../../../platform/sha256.ts";
import { readPieceFile, writePieceFile } from "../peers/piece-file.ts";
import type { ScrubDue } from "./scrub-state.ts";

export interface Checking {
  readonly dir: string;
  readonly clock: Clock;
  /** How fast is read at most. */
  readonly bytesPerSecond: number;
  readonly signal: AbortSignal;
  /** So many pieces from the beginning are right. */
  readonly onPiece: (count: number) => void;
}

/** gone: it is no file of the folder any more. stopped: by the signal. */
export type Checked = "right" | "wrong" | "gone" | "stopped";

/** Reads a held file slowly and compares it with what was fetched; with the hashes of its pieces from where it was left. */
export async function checkFile({ file, piece }: ScrubDue, checking: Checking): Promise<Checked> {
  const { dir } = checking;
  if ((await plainFileBytes(dir, file.key)) !== file.bytes) return "gone";
  const path = join(dir, file.key);
  const known = await readPieceFile(path, file);
  return known === undefined
    ? await checkWhole(file, path, checking)
    : await checkPieces({ file, piece }, { path, known, checking });
}

async function checkPieces(
  { file, piece }: ScrubDue,
  { path, known, checking }: { readonly path: string; readonly known: readonly string[]; readonly checking: Checking },
): Promise<Checked> {
  for (let index = piece; index < known.length; index += 1) {
    const data = await readSlowly(path, pieceRange(file.bytes, index), checking);
    if (checking.signal.aborted) return "stopped";
    if (data === undefined) return "gone";
    if (sha256Of(data) !== known[index]) return "wrong";
    checking.onPiece(index + 1);
  }
  return "right";
}

/** From the beginning, and with the hashes of its pieces noted for the next time. */
async function checkWhole(file: SharedFile, path: string, checking: Checking): Promise<Checked> {
  const hash = createHash("sha256");
  const pieces = createPieceHasher(file.bytes);
  for (let index = 0; index < pieceCount(file.bytes); index += 1) {
    const data = await readSlowly(path, pieceRange(file.bytes, index), checking);
    if (checking.signal.aborted) return "stopped";
    if (data === undefined) return "gone";
    hash.update(data);
    pieces.update(data);
  }
  const { bytes, sha256 } = file;
  if (hash.digest("hex") !== sha256) return "wrong";
  await writePieceFile(path, { bytes, sha256, pieces: pieces.hashes() });
  return "right";
}

const STEP_BYTES = 1024 * 1024;

/** In small steps with rests between: a disk that an engine loads from is not to be kept busy. */
async function readSlowly(
  path: string,
  { start, end }: { readonly start: number; readonly end: number },
  { clock, bytesPerSecond, signal }: Checking,
): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  for (let at = start; at < end && !signal.aborted; at += STEP_BYTES) {
    const begun = clock.monotonic();
    const part = await readPlainFile(path, { start: at, end: Math.min(end, at + STEP_BYTES) });
    if (part === undefined) return undefined;
    parts.push(part);
    const due = (part.length * 1000) / bytesPerSecond - (clock.monotonic() - begun);
    if (due > 0) await pause(clock, millis(due), signal);
  }
  return Buffer.concat(parts);
}
