import { bytes, type GpuUuid, type Millis, millis } from "../core/ids.ts";
import type { MeasuredMemory } from "../core/measured-memory.ts";
import { type Clock, pause } from "../platform/clock.ts";
import { heldTogether, type ProcessMemory } from "../platform/process-memory.ts";
import type { GpuUseOf } from "./gpu-use.ts";

/** After it has become ready an engine is given this long to settle. */
const FIRST_AFTER = millis(5000);
/** Caches fill with use, slowly; and a look asks the driver. */
const AGAIN_AFTER = millis(60_000);
/** What moves less than this is no news, relative and in bytes. */
const NOISE = 0.02;
const LEAST_NEWS = 8 * 2 ** 20;

interface Gauges {
  readonly memoryOf: (pid: number) => ProcessMemory | undefined;
  readonly gpuUse: GpuUseOf;
}

/** What the processes hold together. Undefined: none of them can be asked. */
export async function measureMemory(
  pids: readonly number[],
  gpus: readonly GpuUuid[],
  { memoryOf, gpuUse }: Gauges,
): Promise<MeasuredMemory | undefined> {
  const processes = pids.flatMap((pid) => memoryOf(pid) ?? []);
  if (processes.length === 0) return undefined;
  const onCpu = gpus.length === 0;
  const host = bytes(heldTogether(processes, onCpu));
  return { host, gpus: onCpu ? [] : await gpuUse(gpus, new Set(pids)) };
}

export interface MemoryTarget {
  readonly isReady: () => boolean;
  /** Another launch has taken its place, or none. */
  readonly isOver: () => boolean;
  readonly measure: () => Promise<MeasuredMemory | undefined>;
}

interface FollowOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Tells what a ready engine takes, and again when that has changed, until the launch is over or the signal aborts. */
export async function followMemory(
  target: MemoryTarget,
  onNews: (memory: MeasuredMemory) => void,
  { clock, signal }: FollowOptions,
): Promise<void> {
  const isOver = (): boolean => signal.aborted || target.isOver();
  let told: MeasuredMemory | undefined;
  let wasReady = false;
  for (;;) {
    const wait: Millis = told === undefined ? FIRST_AFTER : AGAIN_AFTER;
    await pause(clock, wait, signal);
    if (isOver()) return;
    const isSettled = wasReady && target.isReady();
    wasReady = target.isReady();
    if (!isSettled) continue;
    const memory = await target.measure().catch(() => undefined);
    if (isOver()) return;
    if (memory === undefined || !target.isReady() || !isNews(told, memory)) continue;
    told = memory;
    onNews(memory);
  }
}

/** Whether the second says something that the first does not. */
export function isNews(before: MeasuredMemory | undefined, now: MeasuredMemory): boolean {
  if (before === undefined || before.gpus.length !== now.gpus.length) return true;
  const pairs: readonly (readonly [number, number])[] = [
    [before.host, now.host],
    ...now.gpus.map(({ bytes: held }, at): readonly [number, number] => [before.gpus[at]?.bytes ?? 0, held]),
  ];
  return pairs.some(([was, is]) => Math.abs(is - was) > Math.max(LEAST_NEWS, was * NOISE));
}
