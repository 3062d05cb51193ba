import { type Millis, millis } from "../core/ids.ts";
import { type Clock, pause } from "../platform/clock.ts";
import { type LaunchIdentity, livingProcesses } from "./launch-processes.ts";
import type { Machine } from "./machine.ts";

interface LeftoverEvents {
  /** Something outlived the engine; told once. */
  leftovers(): void;
  /** No process is left, but the driver says that these pids hold memory of its GPUs. */
  stillHeld(pids: readonly number[]): void;
}

interface LeftoverOptions {
  readonly machine: Machine;
  readonly clock: Clock;
  readonly interval: Millis;
  readonly gpuHolders: (pids: ReadonlySet<number>) => Promise<readonly number[]>;
  readonly signal: AbortSignal;
}

/** A driver gives memory back a moment after the process is gone; longer than this is worth a word. */
const HELD_WORD_AFTER = millis(10_000);

/**
 * True when no process of the launch is left and the driver has all its GPU memory back; false when the signal aborts. There
 * is no deadline: GPUs whose memory is held are of no use to the next start either.
 */
export async function waitForLeftovers(
  { record, pids }: { readonly record: LaunchIdentity; readonly pids: Set<number> },
  events: LeftoverEvents,
  { machine, clock, interval, gpuHolders, signal }: LeftoverOptions,
): Promise<boolean> {
  let told = false;
  let quietSince = clock.monotonic();
  while (!signal.aborted) {
    const living = await livingProcesses(record, machine);
    for (const { pid } of living) pids.add(pid);
    const holders = living.length > 0 ? [] : await gpuHolders(pids);
    if (living.length === 0 && holders.length === 0) return true;
    if (!told) events.leftovers();
    told = true;
    const now = clock.monotonic();
    if (living.length > 0) quietSince = now;
    if (now - quietSince >= HELD_WORD_AFTER) events.stillHeld(holders);
    await pause(clock, interval, signal);
  }
  return false;
}
