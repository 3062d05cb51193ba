import { parseJson } from "../json-value.ts";
import { type BlockStep, BlockReader } from "./blocks.ts";
import { readChatPiece } from "./piece.ts";
import type { DoneBlock, WholeAnswer } from "./speaker.ts";
import { NO_USAGE } from "./usage.ts";

/** Reads a `chat.completion`; undefined for what is none. */
export function readWholeAnswer(body: string): WholeAnswer | undefined {
  const piece = readChatPiece(parseJson(body));
  if (piece === undefined) return undefined;
  const reader = new BlockReader();
  const steps: readonly BlockStep[] = [...reader.push(piece), ...reader.finish()];
  const { finish, stop, usage = NO_USAGE } = piece;
  return {
    start: piece,
    blocks: steps.filter((step): step is DoneBlock => step.kind === "close"),
    end: { finish, stop, usage, hasCalls: reader.hasCalls },
  };
}
