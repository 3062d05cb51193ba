import { type Bytes, bytes, millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import type { Machine } from "./machine.ts";

/** An engine's log, and its older part beside it, together stay below twice this. */
export const LOG_LIMIT: Bytes = bytes(64 * 1024 * 1024);
/** An engine that writes as fast as a disk takes it overshoots by what it writes in that time. */
const LOOK_EVERY = millis(2000);

interface LimitOptions {
  readonly limit: Bytes;
  readonly clock: Clock;
  readonly machine: Machine;
  readonly signal: AbortSignal;
  /** The log begins anew; its older part is in PATH.1. */
  readonly onCut: () => void;
}

/** Keeps a log that is being written to from growing over the limit, until the signal aborts. */
export async function limitLog(path: string, { limit, clock, machine, signal, onCut }: LimitOptions): Promise<void> {
  while (!signal.aborted) {
    if ((await machine.logSize(path)) > limit) {
      await machine.cutLog(path, bytes(limit / 4));
      onCut();
    }
    await pause(clock, LOOK_EVERY, signal);
  }
}
