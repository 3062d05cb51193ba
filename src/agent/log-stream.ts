import { millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import { readPiece, startOfTail } from "../platform/text-log.ts";

export interface LogOrder {
  readonly path: string;
  /** Lines from the end to begin with. */
  readonly tail: number;
  readonly follow: boolean;
}

interface LogStreamOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** False: nobody reads any more. */
  readonly send: (lines: readonly string[]) => Promise<boolean>;
}

/** A person who reads along does not see a shorter delay. */
const LOOK_EVERY = millis(250);

/** Sends the end of a log in pieces of at most 64 KiB, then what is added to it, until the signal aborts. */
export async function streamLog(order: LogOrder, { clock, signal, send }: LogStreamOptions): Promise<void> {
  let offset = await startOfTail(order.path, order.tail);
  while (!signal.aborted) {
    const piece = await readPiece(order.path, offset, !order.follow);
    if (piece !== undefined && piece.lines.length > 0) {
      if (!(await send(piece.lines))) return;
      offset = piece.next;
    } else if (order.follow) {
      await pause(clock, LOOK_EVERY, signal);
    } else {
      return;
    }
  }
}
