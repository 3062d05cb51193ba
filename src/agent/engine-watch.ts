import type { Millis } from "../core/ids.ts";
import { millis } from "../core/ids.ts";
import type { Engine, ExitReport } from "../engines/engine.ts";
import { type Clock, pause } from "../platform/clock.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import { isSameProcess } from "../reconcile/adopt.ts";
import type { Capacity, ProcessRef } from "../reconcile/supervision.ts";
import { livingProcesses, lookAtLaunch } from "./launch-processes.ts";
import { askEngine, type ProbeTarget } from "./probe.ts";

/** What is done with an engine at present. */
type WatchPhase = "starting" | "ready" | "stopping";

/** What the watch finds out. */
export interface WatchEvents {
  /** The engine's first process has ended; called again, with false, when the last of its launch has. */
  gone(exit: ExitReport, leftovers: boolean): void;
  notYet(note: string): void;
  proven(capacity: Capacity): void;
  health(answered: boolean): void;
}

export interface WatchTarget {
  readonly record: LaunchRecord & { readonly process: ProcessRef };
  readonly engine: Engine;
  /** Resolves at its end when it is this agent's own child; an adopted process is only looked at. */
  readonly exited: Promise<ExitReport> | undefined;
  readonly phase: () => WatchPhase;
}

interface WatchOptions {
  readonly clock: Clock;
  readonly interval: Millis;
  /** Ends the watch; the engine is left as it is. */
  readonly signal: AbortSignal;
}

/** A stop is waited for by somebody: looked at more often than a running engine. */
const STOPPING_INTERVAL = millis(200);
/** A health answer takes no work; a busy engine may still be late with it. */
const HEALTH_TIMEOUT = millis(5000);
/** The first token of a large model on a slow machine takes minutes; the start timeout ends it in the end. */
const PROOF_TIMEOUT = millis(300_000);

/** Looks at one engine until its last process is gone or the signal aborts. */
export async function watchEngine(target: WatchTarget, events: WatchEvents, options: WatchOptions): Promise<void> {
  const leaderGone = new AbortController();
  let ended: { readonly exit: ExitReport } | undefined;
  const onExit = (exit: ExitReport): void => {
    ended ??= { exit };
    leaderGone.abort();
  };
  void target.exited?.then(onExit);
  const prober = createProber(target, events, AbortSignal.any([options.signal, leaderGone.signal]));
  for (;;) {
    prober.probe();
    const interval =
      target.phase() === "stopping" ? millis(Math.min(STOPPING_INTERVAL, options.interval)) : options.interval;
    await pause(options.clock, interval, AbortSignal.any([options.signal, leaderGone.signal]));
    if (options.signal.aborted) return;
    // An own child's end comes with its status; only what was adopted has to be looked at.
    if (target.exited === undefined && (await isGone(target.record.process))) onExit({ code: null, signal: null });
    if (ended !== undefined) break;
  }
  const { exit } = ended;
  await waitForLeftovers(
    target,
    (leftovers) => {
      events.gone(exit, leftovers);
    },
    options,
  );
}

async function isGone(process: ProcessRef): Promise<boolean> {
  const finding = await lookAtLaunch(process);
  if (finding.kind === "unknown") return false;
  return finding.kind !== "alive" || !isSameProcess(finding.process, process);
}

async function waitForLeftovers(
  { record }: WatchTarget,
  gone: (leftovers: boolean) => void,
  { clock, signal }: WatchOptions,
): Promise<void> {
  let told = false;
  while ((await livingProcesses(record)).length > 0) {
    if (!told) gone(true);
    told = true;
    await pause(clock, STOPPING_INTERVAL, signal);
    if (signal.aborted) return;
  }
  gone(false);
}

/** Asks one thing at a time: while an answer is awaited, a further probe is not begun. */
function createProber(target: WatchTarget, events: WatchEvents, signal: AbortSignal): { probe(): void } {
  let asking = false;
  return {
    probe() {
      const phase = target.phase();
      if (asking || phase === "stopping") return;
      asking = true;
      void findings(phase, target, signal)
        .then((tell) => {
          if (!signal.aborted) tell(events);
        })
        .finally(() => {
          asking = false;
        });
    },
  };
}

async function findings(
  phase: "starting" | "ready",
  target: WatchTarget,
  signal: AbortSignal,
): Promise<(events: WatchEvents) => void> {
  const note = await healthNote(target, signal);
  if (phase === "ready")
    return (events) => {
      events.health(note === undefined);
    };
  const proof = note ?? (await prove(target, signal));
  if (typeof proof === "string")
    return (events) => {
      events.notYet(proof);
    };
  return (events) => {
    events.proven(proof);
  };
}

const targetOf = ({ record }: WatchTarget): ProbeTarget => ({
  host: record.probeHost,
  port: record.endpoint.port,
  apiKey: record.replica.apiKey,
});

/** Undefined when it is healthy. */
async function healthNote(target: WatchTarget, signal: AbortSignal): Promise<string | undefined> {
  const answer = await askEngine(targetOf(target), target.engine.healthRequest(), { timeout: HEALTH_TIMEOUT, signal });
  if (!answer.ok) return `its health request: ${answer.error}`;
  const { status, body } = answer.value;
  return status === 200 ? undefined : `its health request: ${String(status)} ${shorten(body)}`;
}

/** The engine's capacity once a real piece of work came back; otherwise why it did not. */
async function prove(target: WatchTarget, signal: AbortSignal): Promise<Capacity | string> {
  const { engine, record } = target;
  const request = engine.proofRequest(record.replica);
  const answer = await askEngine(targetOf(target), request, { timeout: PROOF_TIMEOUT, signal });
  if (!answer.ok) return `${request.method} ${request.path}: ${answer.error}`;
  const proof = engine.checkProof(answer.value.status, answer.value.body);
  return proof.ok ? readCapacity(target, signal) : `${request.method} ${request.path}: ${shorten(proof.error)}`;
}

/** 0 is "not known": an engine that does not say how much it takes still works. */
async function readCapacity(target: WatchTarget, signal: AbortSignal): Promise<Capacity> {
  const unknown = { slots: 0, context: target.record.replica.context ?? 0 };
  const request = target.engine.capacityRequest();
  if (request === undefined) return unknown;
  const answer = await askEngine(targetOf(target), request, { timeout: HEALTH_TIMEOUT, signal });
  return (
    (answer.ok && answer.value.status === 200 ? target.engine.readCapacity(answer.value.body) : undefined) ?? unknown
  );
}

const shorten = (text: string): string =>
  (text.length > 300 ? `${text.slice(0, 300)} …` : text).replaceAll(/\s+/g, " ").trim();
