import type { Inventory } from "../../core/node.ts";
import { messageOf } from "../../core/errors.ts";
import { millis } from "../../core/ids.ts";
import { type Clock, pause } from "../../platform/clock.ts";
import type { Logger } from "../../platform/logger.ts";
import { isWorthSending } from "./worth-sending.ts";

/** Often enough for a person who waits beside a changed machine, and rarely enough to cost nothing. */
const REREAD_EVERY = millis(10_000);

export interface InventoryWatch {
  /** The last one that was worth telling. */
  current(): Inventory;
  /** Looks again now, such as after an engine or weights arrived. */
  refresh(): void;
}

interface WatchOptions {
  readonly gather: () => Promise<Inventory>;
  readonly onChange: (inventory: Inventory) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

/** Resolves with the first inventory in hand; from then on the machine is read again and again until the signal aborts. */
export async function watchInventory(options: WatchOptions): Promise<InventoryWatch> {
  let current = await options.gather();
  logProblems(options.logger, [], current);
  let wake = new AbortController();
  const look = async (): Promise<void> => {
    const next = await options.gather();
    if (options.signal.aborted || !isWorthSending(current, next)) return;
    logProblems(options.logger, current.problems, next);
    current = next;
    options.onChange(next);
  };
  const loop = async (): Promise<void> => {
    for (;;) {
      await pause(options.clock, REREAD_EVERY, AbortSignal.any([wake.signal, options.signal]));
      wake = new AbortController();
      if (options.signal.aborted) return;
      await look().catch((error: unknown) => {
        options.logger.error(`the machine could not be read again: ${messageOf(error)}`);
      });
    }
  };
  void loop();
  return {
    current: () => current,
    refresh: () => {
      wake.abort();
    },
  };
}

/** One line for each thing that became wrong or right, not one for each look. */
function logProblems(logger: Logger, before: readonly string[], { problems }: Inventory): void {
  for (const problem of problems.filter((each) => !before.includes(each))) logger.warn(`this node: ${problem}`);
  for (const problem of before.filter((each) => !problems.includes(each)))
    logger.info(`this node, no longer: ${problem}`);
}
