import { ERRORS } from "../../core/errors.ts";
import type { Ending, Trace } from "../account.ts";
import type { ExchangeContext } from "../context.ts";
import { noteRelay } from "../note.ts";
import type { Relay } from "../relay.ts";
import type { Counts } from "./closing.ts";
import type { KeptAnswer } from "./kept-answer.ts";

interface Broken {
  /** Undefined: no answer has begun. */
  readonly relay: Relay | undefined;
  /** Undefined: what was asked is not known any more, and so nothing can be told of what is missing. */
  readonly kept: KeptAnswer | undefined;
  readonly trace: Trace;
}

const BROKEN: Ending = { code: ERRORS.ENGINE_BROKE_OFF.http, outcome: "broke" };

/**
 * Ends a stream whose engine failed after it had said all of its answer: the client lacks only what tells it so, or not even
 * that. Undefined: something is missing, and the stream goes on.
 */
export function endedWell(
  { accounts }: Pick<ExchangeContext, "accounts">,
  { relay, kept, trace }: Broken,
): Ending | undefined {
  const stream = relay?.stream;
  if (kept === undefined || relay?.hasBegun !== true || stream?.isBetweenEvents !== true) return undefined;
  const counts = (): Counts => {
    noteRelay(trace, relay);
    const counted = accounts.tokens(trace, BROKEN);
    trace.isPieced ||= counted.estimated;
    return counted;
  };
  const closing = stream.isDone ? "" : kept.closing(stream.tail(), counts);
  if (closing === undefined) return undefined;
  relay.end(closing);
  return relay.ending();
}
