import type { Clock } from "../../../platform/clock.ts";
import { failureOf } from "../../failure.ts";
import { type ChatBody, type ChatPiece, type ChatTarget, chatPieces } from "../chat-request.ts";
import type { Measured } from "./summary.ts";

export interface Load {
  readonly target: Omit<ChatTarget, "signal">;
  readonly clock: Pick<Clock, "monotonic">;
  readonly concurrency: number;
  readonly requests: number;
  /** Of the request at that place. */
  readonly body: (at: number) => ChatBody;
  /** Called after each request. */
  readonly onDone: (done: number) => void;
  /** Ends the load: requests that are under way are given up and do not count. */
  readonly signal: AbortSignal;
}

/** As many requests at a time as `concurrency` says, each begun when another has ended, until all are done. */
export async function runLoad(load: Load): Promise<readonly Measured[]> {
  const measured: Measured[] = [];
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < load.requests && !load.signal.aborted) {
      const at = next;
      next += 1;
      const one = await measure(load, load.body(at));
      if (one === undefined) return;
      measured.push(one);
      load.onDone(measured.length);
    }
  };
  await Promise.all(Array.from({ length: load.concurrency }, client));
  return measured;
}

/** Undefined: the load was ended. */
async function measure({ target, clock, signal }: Load, body: ChatBody): Promise<Measured | undefined> {
  const start = clock.monotonic();
  try {
    const asked = { ...body, stream_options: { include_usage: true } };
    const seen = await watch(chatPieces({ ...target, signal }, asked), clock);
    if (seen.first === undefined) return { kind: "failed", code: "ENGINE_BROKE_OFF", message: "the answer was empty" };
    return {
      kind: "answered",
      firstTokenMs: seen.first - start,
      answerMs: seen.last - start,
      promptTokens: seen.usage?.prompt ?? 0,
      // Engines send a token a piece; where one does not say how many there were, that is the best that is known.
      completionTokens: seen.usage?.completion ?? seen.pieces,
    };
  } catch (error) {
    if (signal.aborted) return undefined;
    const { code, message } = failureOf(error);
    return { kind: "failed", code, message };
  }
}

interface Seen {
  /** When the first and the last piece of text came. Undefined: none did. */
  readonly first: number | undefined;
  readonly last: number;
  readonly pieces: number;
  readonly usage: { readonly prompt: number; readonly completion: number } | undefined;
}

async function watch(stream: AsyncIterable<ChatPiece>, clock: Pick<Clock, "monotonic">): Promise<Seen> {
  let seen: Seen = { first: undefined, last: 0, pieces: 0, usage: undefined };
  for await (const piece of stream) {
    const now = clock.monotonic();
    if (piece.kind === "usage") seen = { ...seen, usage: piece };
    else seen = { ...seen, first: seen.first ?? now, last: now, pieces: seen.pieces + 1 };
  }
  return seen;
}
