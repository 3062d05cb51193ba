import { Code, ConnectError } from "@connectrpc/connect";
import { millis } from "../../core/ids.ts";
import { pause, systemClock } from "../../platform/clock.ts";
import type { Io } from "../io.ts";

export const RETRY_AFTER = millis(1000);

/** What a call ends with when the control plane was killed or restarted under it. */
const LOSSES: readonly Code[] = [Code.Unavailable, Code.Aborted, Code.Internal, Code.Canceled];

/** A connection that broke, as against an answer that says no. */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof ConnectError && LOSSES.includes(error.code);

export const LOSS = "The connection was lost; taking it up again …";

export const tellLoss = (io: Io): void => {
  io.stderr.write(`${LOSS}\n`);
};

interface Patience {
  /** Aborted by Ctrl-C. */
  readonly stop: AbortSignal;
  /** Called once for each loss. */
  readonly onLoss: () => void;
}

/** Asks for something that is watched: undefined once Ctrl-C cut it off; from the second time on a loss is waited out. */
export function patientAsker({ stop, onLoss }: Patience): <T>(ask: () => Promise<T>) => Promise<T | undefined> {
  let hasAnswered = false;
  const isOver = (): boolean => stop.aborted;
  return async (ask) => {
    let isLost = false;
    while (!isOver()) {
      try {
        const answer = await ask();
        hasAnswered = true;
        return answer;
      } catch (error) {
        if (isOver()) return undefined;
        if (!hasAnswered || !isConnectionLost(error)) throw error;
        if (!isLost) onLoss();
        isLost = true;
        await pause(systemClock, RETRY_AFTER, stop);
      }
    }
    return undefined;
  };
}
