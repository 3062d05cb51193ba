import type { Millis } from "../core/ids.ts";

export interface FirstSignal {
  readonly signal: string;
  readonly at: Millis;
}

/**
 * npm passes a signal on to its child that the terminal has already sent to both: the same press of Ctrl-C arrives twice,
 * a few milliseconds apart. 300 ms is far below what a person needs for a second press that is meant.
 */
const ECHO_MS = 300;

/** What a SIGINT or SIGTERM asks for: a clean end, nothing (the first one again), or an end at once. */
export function meaningOf(
  first: FirstSignal | undefined,
  next: FirstSignal,
  options: { readonly startedByNpm: boolean },
): "stop" | "echo" | "exit" {
  if (first === undefined) return "stop";
  const isEcho = options.startedByNpm && next.signal === first.signal && next.at - first.at < ECHO_MS;
  return isEcho ? "echo" : "exit";
}
