import { setTimeout as sleep } from "node:timers/promises";

interface WaitOptions {
  readonly timeoutMs?: number;
  readonly seen?: () => string;
}

/**
 * Asks until the answer is neither undefined nor false. A look at other processes has no event to wait for, so it is repeated;
 * the deadline only bounds a failure, and its message holds what was seen last.
 */
export async function until<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  options: WaitOptions = {},
): Promise<T> {
  const { timeoutMs = 60_000, seen } = options;
  const deadline = performance.now() + timeoutMs;
  let lastError = "";
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== undefined && answer !== false) return answer;
    } catch (error) {
      lastError = String(error);
    }
    if (performance.now() > deadline) {
      throw new Error(`waited ${String(timeoutMs)} ms for ${what}\n${lastError}\n${seen?.() ?? ""}`);
    }
    await sleep(50);
  }
}

/** Asks until something has been counted, and nothing more is: of two looks 300 ms apart both find the same. */
export async function untilStill(what: string, count: () => number, options: WaitOptions = {}): Promise<void> {
  let before = 0;
  const isStill = async (): Promise<boolean> => {
    const isSame = count() === before && before > 0;
    before = count();
    if (!isSame) await sleep(300);
    return isSame;
  };
  await until(what, isStill, options);
}
