import { err, type Result } from "../../core/result.ts";
import type { Progress } from "../../core/replica-state.ts";
import { lasting, type WeightFailure } from "./failure.ts";

type Listener = (progress: Progress) => void;

interface Turn {
  readonly key: string;
  readonly onProgress: Listener;
  readonly signal: AbortSignal;
}

/**
 * One at a time works on a model; who comes later hears of the progress, and then finds the work done. Whoever gives up
 * leaves the others their turns.
 */
export interface Turns {
  take<T>(
    turn: Turn,
    work: (onProgress: Listener) => Promise<Result<T, WeightFailure>>,
  ): Promise<Result<T, WeightFailure>>;
}

export function createTurns(): Turns {
  const running = new Map<string, { readonly ended: Promise<void>; readonly listeners: Set<Listener> }>();
  return {
    async take({ key, onProgress, signal }, work) {
      for (let other = running.get(key); other !== undefined; other = running.get(key)) {
        other.listeners.add(onProgress);
        await Promise.race([other.ended, aborted(signal)]);
        other.listeners.delete(onProgress);
        if (signal.aborted) return err(lasting("aborted", "fetching was stopped"));
      }
      const listeners = new Set([onProgress]);
      const { promise: ended, resolve } = Promise.withResolvers<undefined>();
      running.set(key, { ended: ended.then(() => undefined), listeners });
      try {
        return await work((progress) => {
          for (const listener of listeners) listener(progress);
        });
      } finally {
        running.delete(key);
        resolve(undefined);
      }
    },
  };
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else
      signal.addEventListener(
        "abort",
        () => {
          resolve();
        },
        { once: true },
      );
  });
