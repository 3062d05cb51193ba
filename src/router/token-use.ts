import { NO_TOKENS, type TokenUse } from "../core/usage.ts";
import type { Ending, Trace } from "./account.ts";
import type { Usage } from "./usage.ts";

/** English text has about so many bytes a token; other languages have fewer tokens than this gives. */
const BYTES_PER_TOKEN = 4;
/** A body of images says nothing about its tokens: a guess at a prompt goes no further. */
const LONGEST_GUESS = 32_768;
/** No engine needs more for one token's event, with its id, model and braces: what is larger holds several. */
const BYTES_PER_EVENT = 400;
/** Events of a whole stream that bring no token: its role, its end and its counts. */
const EVENTS_WITHOUT_TOKEN = 4;
/** How much one counted answer moves what is guessed of the next. */
const WEIGHT = 0.1;

/** What the last answers of a model have taught about requests whose tokens nobody counts. */
export class TokenRates {
  bytesPerPromptToken = BYTES_PER_TOKEN;
  tokensPerEvent = 1;
  bytesPerStreamedToken = BYTES_PER_EVENT;

  /** From a request that the engine has counted. */
  learn({ prompt, completion }: Usage, trace: Pick<Trace, "isStream" | "bytesIn" | "bytesOut" | "events">): void {
    const { bytesIn, bytesOut, events } = trace;
    if (prompt > 0 && bytesIn > 0) this.bytesPerPromptToken += WEIGHT * (bytesIn / prompt - this.bytesPerPromptToken);
    const withToken = events - EVENTS_WITHOUT_TOKEN;
    if (!trace.isStream || completion === 0 || withToken <= 0) return;
    this.tokensPerEvent += WEIGHT * (completion / withToken - this.tokensPerEvent);
    this.bytesPerStreamedToken += WEIGHT * (bytesOut / completion - this.bytesPerStreamedToken);
  }
}

/**
 * Tokens that a request counts as. The engine's own counts where they came; for an answer that was cut off before them, what
 * its bytes and events amount to, so that hanging up early is not free. What no engine worked on counts as nothing.
 */
export function tokenUseOf(trace: Trace, { outcome }: Pick<Ending, "outcome">, rates: TokenRates): TokenUse {
  const { usage } = trace;
  const isWhole = outcome === "complete";
  if (usage !== undefined && (isWhole || !isOnlyOfStart(usage, trace.usageAtStart))) {
    if (isWhole && !trace.isPieced) rates.learn(usage, trace);
    return { ...usage, estimated: trace.isPieced };
  }
  return wasWorkedOn(trace, outcome) ? guess(trace, rates) : NO_TOKENS;
}

/** A whole answer without counts took none: a tokenizer's, a ranking. */
function wasWorkedOn({ handedOverAt, isStream }: Trace, outcome: string): boolean {
  if (handedOverAt === undefined || outcome === "refused" || outcome === "refused_by_engine") return false;
  return outcome !== "complete" || isStream;
}

function guess(trace: Trace, rates: TokenRates): TokenUse {
  const completion = completionOf(trace, rates);
  if (trace.usageAtStart !== undefined) return { ...trace.usageAtStart, completion, estimated: true };
  const prompt = Math.min(LONGEST_GUESS, Math.ceil(trace.bytesIn / rates.bytesPerPromptToken));
  return { prompt, cached: 0, completion, estimated: true };
}

/** Streams of Messages begin with counts: of the whole prompt, and of next to nothing that was written. */
const isOnlyOfStart = (usage: Usage, atStart: Usage | undefined): boolean =>
  atStart !== undefined && usage.completion <= atStart.completion;

/** Engines may put many tokens into one event: its size tells. */
function completionOf({ isStream, events, bytesOut }: Trace, rates: TokenRates): number {
  if (!isStream) return Math.ceil(bytesOut / BYTES_PER_TOKEN);
  return Math.ceil(Math.max(events * rates.tokensPerEvent, bytesOut / rates.bytesPerStreamedToken));
}
