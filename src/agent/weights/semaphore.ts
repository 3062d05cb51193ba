/** At most so many at work at once; the others wait in the order they came. */
export interface Semaphore {
  /** Runs the work when its turn has come; undefined when the signal aborted before. */
  run<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T | undefined>;
  /** Takes effect at once for those who wait; nobody at work is stopped. */
  setLimit(limit: number): void;
}

export function createSemaphore(initial: number): Semaphore {
  let limit = Math.max(1, initial);
  let running = 0;
  let waiting: readonly (() => void)[] = [];

  const admit = (): void => {
    while (running < limit) {
      const [next, ...rest] = waiting;
      if (next === undefined) return;
      waiting = rest;
      running += 1;
      next();
    }
  };

  const turn = (signal: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      const enter = (): void => {
        signal.removeEventListener("abort", leave);
        resolve(true);
      };
      const leave = (): void => {
        waiting = waiting.filter((other) => other !== enter);
        resolve(false);
      };
      if (signal.aborted) {
        resolve(false);
        return;
      }
      signal.addEventListener("abort", leave, { once: true });
      waiting = [...waiting, enter];
      admit();
    });

  return {
    async run(work, signal) {
      if (!(await turn(signal))) return undefined;
      try {
        return await work();
      } finally {
        running -= 1;
        admit();
      }
    },
    setLimit(next) {
      limit = Math.max(1, next);
      admit();
    },
  };
}
