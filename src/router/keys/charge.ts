import type { Ending, Trace } from "../account.ts";

/** English text has about so many bytes a token; other languages have fewer tokens than this gives. */
const BYTES_PER_TOKEN = 4;
/** One token's event on a stream, with its id, model and braces. */
const BYTES_PER_EVENT = 200;
/** A body of images says nothing about its tokens: a guess at a prompt goes no further. */
const LONGEST_GUESS = 32_768;

/**
 * Tokens that a request counts as. The engine's own counts where they came; for an answer that was cut off before them, a
 * guess from its bytes, so that hanging up early is not free. What no engine worked on counts as nothing.
 */
export function tokensOf(
  { usage, bytesIn, bytesOut, firstTokenAt, handedOverAt }: Trace,
  { outcome }: Pick<Ending, "outcome">,
): number {
  if (usage !== undefined) return usage.prompt + usage.completion;
  if (handedOverAt === undefined || outcome === "refused" || outcome === "refused_by_engine") return 0;
  const isStream = firstTokenAt !== undefined;
  // A whole answer without counts has none: a tokenizer's, a ranking.
  if (outcome === "complete" && !isStream) return 0;
  const prompt = Math.min(LONGEST_GUESS, Math.ceil(bytesIn / BYTES_PER_TOKEN));
  return prompt + Math.ceil(bytesOut / (isStream ? BYTES_PER_EVENT : BYTES_PER_TOKEN));
}
