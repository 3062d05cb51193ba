import { systemClock } from "../platform/clock.ts";
import type { Io } from "./io.ts";
import { type FirstSignal, meaningOf } from "./stop-signal.ts";

/** Not clean: a program that was told twice may have left something behind. */
const EXIT_AT_ONCE = 1;

/**
 * Listens for SIGINT and SIGTERM from here on. The signal aborts with the first; a second one ends the process where it
 * stands.
 */
export function stopSignal(io: Io, onFirst: (signal: string) => void): AbortSignal {
  const controller = new AbortController();
  const startedByNpm = io.env["npm_lifecycle_event"] !== undefined;
  let first: FirstSignal | undefined;
  const received = (signal: string): void => {
    const next = { signal, at: systemClock.monotonic() };
    const meaning = meaningOf(first, next, { startedByNpm });
    if (meaning === "exit") process.exit(EXIT_AT_ONCE);
    if (meaning === "echo") return;
    first = next;
    onFirst(signal);
    controller.abort();
  };
  process.on("SIGINT", received);
  process.on("SIGTERM", received);
  return controller.signal;
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else {
      signal.addEventListener("abort", () => {
        resolve();
      });
    }
  });
}

/** Calls back at each SIGHUP instead of ending. */
export function onHangup(reload: () => void): void {
  process.on("SIGHUP", reload);
}
