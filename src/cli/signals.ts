import { systemClock } from "../platform/clock.ts";
import type { Io } from "./io.ts";
import { outliveReaders } from "./without-reader.ts";
import { type FirstSignal, meaningOf } from "./stop-signal.ts";

/** Not clean: a program that was told twice may have left something behind. */
const EXIT_AT_ONCE = 1;

interface StopOptions {
  readonly onFirst: (signal: string) => void;
  /** Whether a terminal that is closed is a wish to stop, too. */
  readonly hangupStops?: boolean;
}

/**
 * Listens for SIGINT and SIGTERM from here on. The signal aborts with the first; a second one ends the process where it
 * stands.
 */
export function stopSignal(io: Io, { onFirst, hangupStops = false }: StopOptions): AbortSignal {
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
  if (hangupStops) {
    process.on("SIGHUP", () => {
      // Shell and kernel may both send it: only the first one means something.
      if (first === undefined) received("SIGHUP");
    });
  }
  outliveReaders();
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
