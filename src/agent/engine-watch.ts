import { messageOf } from "../core/errors.ts";
import { type Millis, millis } from "../core/ids.ts";
import type { Engine, ExitReport } from "../engines/engine.ts";
import { type Clock, pause } from "../platform/clock.ts";
import { isSameProcess, type LaunchRecord } from "../reconcile/adopt.ts";
import { freshMemory, type HangPolicy, judgeWork, type WorkVerdict } from "../reconcile/hang.ts";
import type { Capacity, ProcessRef } from "../reconcile/supervision.ts";
import { canBeAsked, healthNote, lookAtWork, prove, tryWork } from "./engine-probe.ts";
import { waitForLeftovers } from "./leftovers.ts";
import { livingProcesses, lookAtLaunch } from "./launch-processes.ts";
import type { Machine } from "./machine.ts";

/** What is done with an engine at present. */
type WatchPhase = "starting" | "ready" | "stopping";

/** What the watch finds out. */
export interface WatchEvents {
  /** The engine's process has ended; called again, with false, when everything of its launch has. */
  gone(exit: ExitReport, leftovers: boolean): void;
  notYet(note: string): void;
  proven(capacity: Capacity): void;
  health(answered: boolean): void;
  hung(reason: string): void;
  /** Nothing of it runs any more, and yet the driver says that these pids hold memory of its GPUs. */
  stillHeld(pids: readonly number[]): void;
}

export interface WatchTarget {
  readonly record: LaunchRecord & { readonly process: ProcessRef };
  readonly engine: Engine;
  readonly machine: Machine;
  /** Where its keeper writes how it ended. */
  readonly statusPath: string;
  /** Resolves when the keeper of this agent's own child has ended; an adopted process is only looked at. */
  readonly exited: Promise<void> | undefined;
  readonly phase: () => WatchPhase;
  /** Every pid that the launch is known to have had; added to. */
  readonly pids: Set<number>;
}

interface WatchOptions {
  readonly clock: Clock;
  readonly interval: Millis;
  readonly hangPolicy: HangPolicy;
  readonly gpuHolders: (pids: ReadonlySet<number>) => Promise<readonly number[]>;
  /** Ends the watch; the engine is left as it is. */
  readonly signal: AbortSignal;
}

/** A stop is waited for by somebody: looked at more often than a running engine. */
const STOPPING_INTERVAL = millis(200);

/** Looks at one engine until everything of it is gone or the signal aborts. */
export async function watchEngine(target: WatchTarget, events: WatchEvents, options: WatchOptions): Promise<void> {
  for (;;) {
    const gone = new AbortController();
    const failure = await watchOnce(target, events, { ...options, gone }).then(() => undefined, messageOf);
    gone.abort();
    if (failure === undefined || options.signal.aborted) return;
    // A machine that could not be asked, for want of file handles perhaps, says nothing about the engine.
    if (target.phase() === "starting") events.notYet(`it cannot be looked at: ${failure}`);
    await pause(options.clock, options.interval, options.signal);
  }
}

async function watchOnce(
  target: WatchTarget,
  events: WatchEvents,
  options: WatchOptions & { readonly gone: AbortController },
): Promise<void> {
  const { clock, signal, gone } = options;
  const asking = AbortSignal.any([signal, gone.signal]);
  const probeHealth = oneAtATime(() => askHealth(target, events, asking));
  void followWork(target, events, { ...options, signal: asking });
  // Its end wakes the watch once; after that an orphan is looked at like any other process.
  let waking = target.exited === undefined ? signal : AbortSignal.any([signal, abortedBy(target.exited)]);
  do {
    probeHealth();
    const interval = target.phase() === "stopping" ? Math.min(STOPPING_INTERVAL, options.interval) : options.interval;
    await pause(clock, millis(interval), waking);
    if (signal.aborted) return;
    if (waking.aborted) waking = signal;
  } while (!(await isGone(target.record.process, target.machine)));
  gone.abort();
  const exit = await exitOf(target, clock);
  target.pids.add(target.record.process.pid);
  const told = {
    leftovers: () => {
      events.gone(exit, true);
    },
    stillHeld: (pids: readonly number[]) => {
      events.stillHeld(pids);
    },
  };
  if (await waitForLeftovers(target, told, { ...options, machine: target.machine, interval: STOPPING_INTERVAL }))
    events.gone(exit, false);
}

function abortedBy(event: Promise<void>): AbortSignal {
  const controller = new AbortController();
  void event.then(() => {
    controller.abort();
  });
  return controller.signal;
}

async function isGone(process: ProcessRef, machine: Machine): Promise<boolean> {
  const finding = await lookAtLaunch(process, machine);
  if (finding.kind === "unknown") return false;
  return finding.kind !== "alive" || !isSameProcess(finding.process, process);
}

/** Between an engine's end and its keeper's word there are milliseconds, unless the keeper was killed too. */
const KEEPER_INTERVAL = millis(20);

async function exitOf({ record, statusPath, machine }: WatchTarget, clock: Clock): Promise<ExitReport> {
  for (;;) {
    const keeperIsGone = record.keeper === undefined || (await isGone(record.keeper, machine));
    const status = await machine.readExitStatus(statusPath);
    if (status !== undefined) return status;
    if (keeperIsGone) return { code: null, signal: null };
    await pause(clock, KEEPER_INTERVAL);
  }
}

/** While an answer is awaited, a further question is not begun. */
function oneAtATime(ask: () => Promise<void>): () => void {
  let asking = false;
  return () => {
    if (asking) return;
    asking = true;
    void ask().finally(() => {
      asking = false;
    });
  };
}

async function askHealth(target: WatchTarget, events: WatchEvents, signal: AbortSignal): Promise<void> {
  const phase = target.phase();
  if (phase === "stopping") return;
  if (!canBeAsked(target)) {
    // It works for the rank that answers, and has proven itself when that one has.
    if (phase === "starting") events.proven({ slots: 0, context: 0 });
    return;
  }
  const note = await healthNote(target, signal);
  if (phase === "ready") {
    if (!signal.aborted) events.health(note === undefined);
    return;
  }
  const proof = note ?? (await strangerNote(target)) ?? (await prove(target, signal));
  if (signal.aborted) return;
  if (typeof proof === "string") events.notYet(proof);
  else events.proven(proof);
}

/** B22: what answers may be a stranger on the engine's port, whom the proof must not come from. */
async function strangerNote({ record, machine }: WatchTarget): Promise<string | undefined> {
  const { port } = record.endpoint;
  const pids = (await livingProcesses(record, machine)).map(({ pid }) => pid);
  const owner = await machine.portOwner(port, pids);
  return owner === "others" ? `port ${String(port)} is held by another program` : undefined;
}

/** Whether the work of a ready engine gets on, whatever its health page says. */
async function followWork(
  target: WatchTarget,
  events: WatchEvents,
  { clock, hangPolicy: policy, signal }: Omit<WatchOptions, "interval" | "gpuHolders">,
): Promise<void> {
  if (target.engine.work === undefined || !canBeAsked(target)) return;
  const isOver = (): boolean => signal.aborted;
  let memory = freshMemory(clock.monotonic());
  let verdict: WorkVerdict = { kind: "fine" };
  for (;;) {
    await pause(clock, millis(policy.slowAfter / 2), signal);
    if (isOver()) return;
    if (target.phase() !== "ready") {
      memory = freshMemory(clock.monotonic());
      continue;
    }
    const timeout = millis(policy.hungAfter - policy.proveAfter);
    const look =
      verdict.kind === "prove" ? await tryWork(target, { clock, timeout, signal }) : await lookAtWork(target, signal);
    if (look === undefined || isOver()) return;
    ({ memory, verdict } = judgeWork(memory, look, { now: clock.monotonic(), policy }));
    if (verdict.kind === "hung") events.hung(verdict.reason);
  }
}
