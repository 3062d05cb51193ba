import { formatDuration } from "../core/format.ts";
import { type Millis, millis, plus } from "../core/ids.ts";
import type { Endpoint } from "../core/replica-state.ts";
import { type BackoffPolicy, jitteredDelay } from "./backoff.ts";
import {
  type Attempt,
  type AttemptEnd,
  type Capacity,
  type Effect,
  type ProcessRef,
  type StopOutcome,
  type SupervisedState,
  type Supervision,
  type SupervisorEvent,
  wakeAt,
} from "./supervision.ts";

export interface SupervisorPolicy {
  readonly startTimeout: Millis;
  readonly stopTimeout: Millis;
  /** Between one SIGKILL and the next to a process that is still there. */
  readonly killAgainAfter: Millis;
  /** Starts in a row that never became ready. */
  readonly maxAttempts: number;
  /** An engine that served this long was a good one: its crash begins a new count. */
  readonly stableAfter: Millis;
  readonly backoff: BackoffPolicy;
  /** A rank of a gang: it starts when all do, and its end is the end of all, so it is not started again by itself. */
  readonly isRank: boolean;
}

export interface SupervisorContext {
  /** Monotonic. */
  readonly now: Millis;
  readonly random: () => number;
  readonly policy: SupervisorPolicy;
}

export interface Step {
  readonly next: Supervision;
  readonly effects: readonly Effect[];
}

const to = (before: Supervision, state: SupervisedState, ...effects: readonly Effect[]): Step => ({
  next: { ...before, state },
  effects,
});

type Handlers = {
  readonly [K in SupervisorEvent["kind"]]: (
    before: Supervision,
    event: Extract<SupervisorEvent, { kind: K }>,
    context: SupervisorContext,
  ) => Step;
};

const HANDLERS: Handlers = {
  progressed: (before, { progress }) =>
    to(before, before.state.kind === "preparing" ? { ...before.state, progress } : before.state),
  prepared: onPrepared,
  prepareFailed: onPrepareFailed,
  startOrdered: (before) =>
    before.state.kind === "waiting" ? to(before, { kind: "launching" }, { kind: "launch" }) : to(before, before.state),
  partLost: onPartLost,
  spawned: onSpawned,
  spawnFailed: onSpawnFailed,
  notYet: (before, { note }) => to(before, before.state.kind === "starting" ? { ...before.state, note } : before.state),
  proven: onProven,
  answered: (before) => onHealth(before, true),
  unanswered: (before) => onHealth(before, false),
  hung: onHung,
  stillHeld: (before, { note }) =>
    to(before, before.state.kind === "stopping" ? { ...before.state, note } : before.state),
  exited: onExited,
  stopRequested: onStop,
  tick: onTick,
};

/** Decides, never acts. The agent runs the effects and gives back what became of them as events. */
export function step(before: Supervision, event: SupervisorEvent, context: SupervisorContext): Step {
  // The table's type pairs each kind with its handler; indexing it by a union forgets the pairing.
  const handler = HANDLERS[event.kind] as (
    before: Supervision,
    event: SupervisorEvent,
    context: SupervisorContext,
  ) => Step;
  return handler(before, event, context);
}

function onPrepared(before: Supervision, _event: SupervisorEvent, { policy }: SupervisorContext): Step {
  if (before.state.kind === "abandoning") return to(before, { kind: "stopped" });
  if (before.state.kind !== "preparing") return to(before, before.state);
  if (policy.isRank) return to(before, { kind: "waiting" });
  return to(before, { kind: "launching" }, { kind: "launch" });
}

function onPartLost(before: Supervision, { end }: { readonly end: AttemptEnd }): Step {
  const { state } = before;
  if (state.kind !== "preparing" && state.kind !== "waiting" && state.kind !== "backoff") return to(before, state);
  const failed = { kind: "failed", reason: end.reason, lastLines: [] } as const;
  return state.kind === "preparing" ? to(before, failed, { kind: "abandon" }) : to(before, failed);
}

function onPrepareFailed(before: Supervision, { end }: { readonly end: AttemptEnd }, context: SupervisorContext): Step {
  if (before.state.kind === "abandoning") return to(before, { kind: "stopped" });
  if (before.state.kind !== "preparing") return to(before, before.state);
  if (!end.retry) return to(before, { kind: "failed", reason: end.reason, lastLines: [] });
  return afterRefusal(before, { reason: end.reason, phase: "preparing" }, context);
}

/**
 * Nothing ran that could have failed: a network may be away for hours, a disk full for days. What only waits for the machine or
 * the world around it is tried for as long as it is wanted, and does not count among the ends of engines.
 */
function afterRefusal(
  before: Supervision,
  { reason, phase }: { readonly reason: string; readonly phase: "preparing" | "starting" },
  { now, policy, random }: SupervisorContext,
): Step {
  const refusals = (before.refusals ?? 0) + 1;
  const retryAt = plus(now, jitteredDelay(refusals, policy.backoff, random));
  return to({ ...before, refusals, lastEnd: reason }, { kind: "backoff", retryAt, phase });
}

function onSpawned(
  before: Supervision,
  { process, endpoint }: { readonly process: ProcessRef; readonly endpoint: Endpoint },
  { now, policy }: SupervisorContext,
): Step {
  const counted = { ...before, launches: before.launches + 1, refusals: 0 };
  if (before.state.kind === "abandoning") return terminate(counted, process, { now, policy });
  if (before.state.kind !== "launching") return to(before, before.state);
  return to(counted, { kind: "starting", process, endpoint, deadline: plus(now, policy.startTimeout), note: "" });
}

function onSpawnFailed(before: Supervision, { end }: { readonly end: AttemptEnd }, context: SupervisorContext): Step {
  if (before.state.kind === "abandoning") return to(before, { kind: "stopped" }, { kind: "forget" });
  if (before.state.kind !== "launching") return to(before, before.state);
  if (end.waits !== true || context.policy.isRank) {
    return afterAttempt(before, { end, lastLines: [], served: undefined }, context);
  }
  const { next } = afterRefusal(before, { reason: end.reason, phase: "starting" }, context);
  return { next, effects: [{ kind: "forget" }] };
}

function onProven(
  before: Supervision,
  { capacity }: { readonly capacity: Capacity },
  { now }: SupervisorContext,
): Step {
  const { state } = before;
  if (state.kind !== "starting") return to(before, state);
  const { process, endpoint } = state;
  return to(before, { kind: "ready", process, endpoint, capacity, since: now, unanswered: 0 });
}

function onHealth(before: Supervision, answered: boolean): Step {
  const { state } = before;
  if (state.kind !== "ready") return to(before, state);
  return to(before, { ...state, unanswered: answered ? 0 : state.unanswered + 1 });
}

function onExited(
  before: Supervision,
  { end, lastLines, leftovers }: Extract<SupervisorEvent, { kind: "exited" }>,
  context: SupervisorContext,
): Step {
  const { state } = before;
  if (state.kind === "stopping") {
    if (leftovers) return to(before, state);
    if (state.outcome.kind === "stopped") return to(before, { kind: "stopped" }, { kind: "forget" });
    return afterAttempt(before, { ...state.outcome.attempt, lastLines }, context);
  }
  if (state.kind !== "starting" && state.kind !== "ready") return to(before, state);
  const served = state.kind === "ready" ? millis(context.now - state.since) : undefined;
  if (!leftovers) return afterAttempt(before, { end, lastLines, served }, context);
  // Workers of a dead engine hold its memory and perhaps its port: the next start waits until they are gone.
  const { process } = state;
  const outcome: StopOutcome = { kind: "failure", attempt: { end, served } };
  const killAt = plus(context.now, context.policy.killAgainAfter);
  const stopping = { kind: "stopping", process, killAt, outcome, note: "" } as const;
  return to(before, stopping, { kind: "signal", process, signal: "SIGKILL" });
}

/** Only an engine that served can hang: one that starts has its own deadline. */
function onHung(before: Supervision, { reason }: { readonly reason: string }, context: SupervisorContext): Step {
  const { state } = before;
  if (state.kind !== "ready") return to(before, state);
  const attempt = { end: { reason, retry: true }, served: millis(context.now - state.since) };
  return terminate(before, state.process, { ...context, outcome: { kind: "failure", attempt } });
}

function afterAttempt(
  before: Supervision,
  { end, served, lastLines }: Attempt & { readonly lastLines: readonly string[] },
  context: SupervisorContext,
): Step {
  const stable = served !== undefined && served >= context.policy.stableAfter;
  const counted = { ...before, failures: stable ? 1 : before.failures + 1, lastEnd: end.reason };
  // What has become ready once can do so again; only a start that never succeeds is given up.
  const isHopeless = served === undefined && (!end.retry || counted.failures >= context.policy.maxAttempts);
  const givenUp = isHopeless || context.policy.isRank;
  if (givenUp) return to(counted, { kind: "failed", reason: end.reason, lastLines }, { kind: "forget" });
  const retryAt = plus(context.now, jitteredDelay(counted.failures, context.policy.backoff, context.random));
  return to(counted, { kind: "backoff", retryAt, phase: "starting" }, { kind: "forget" });
}

function terminate(
  before: Supervision,
  process: ProcessRef,
  {
    now,
    policy,
    outcome = { kind: "stopped" },
  }: Pick<SupervisorContext, "now" | "policy"> & { readonly outcome?: StopOutcome },
): Step {
  const killAt = plus(now, policy.stopTimeout);
  const stopping = { kind: "stopping", process, killAt, outcome, note: "" } as const;
  return to(before, stopping, { kind: "signal", process, signal: "SIGTERM" });
}

type WithProcess = "starting" | "ready" | "stopping";

/** What a stop means in each state that has no process. */
const AT_STOP: Readonly<Record<Exclude<SupervisedState["kind"], WithProcess>, "abandon" | "settle" | "rest">> = {
  preparing: "abandon",
  launching: "abandon",
  waiting: "settle",
  backoff: "settle",
  failed: "settle",
  abandoning: "rest",
  stopped: "rest",
};

function onStop(before: Supervision, _event: SupervisorEvent, context: SupervisorContext): Step {
  const { state } = before;
  // Told to end already: what changes is only what its end leads to.
  if (state.kind === "stopping") return to(before, { ...state, outcome: { kind: "stopped" } });
  if (state.kind === "starting" || state.kind === "ready") return terminate(before, state.process, context);
  switch (AT_STOP[state.kind]) {
    case "abandon":
      return to(before, { kind: "abandoning" }, { kind: "abandon" });
    case "settle":
      return to(before, { kind: "stopped" });
    case "rest":
      return to(before, state);
  }
}

function onTick(before: Supervision, _event: SupervisorEvent, context: SupervisorContext): Step {
  const { state } = before;
  const due = wakeAt(state);
  if (due === undefined || context.now < due) return to(before, state);
  if (state.kind === "backoff") return to(before, { kind: "preparing", progress: undefined }, { kind: "prepare" });
  if (state.kind === "starting") {
    const attempt = { end: startTimeout(state, context), served: undefined };
    return terminate(before, state.process, { ...context, outcome: { kind: "failure", attempt } });
  }
  if (state.kind !== "stopping") return to(before, state);
  // The proven exit, not this signal, moves the state on: only an exit frees memory and port.
  const { process } = state;
  const killAt = plus(context.now, context.policy.killAgainAfter);
  return to(before, { ...state, killAt }, { kind: "signal", process, signal: "SIGKILL" });
}

function startTimeout(state: { readonly note: string }, { policy }: SupervisorContext): AttemptEnd {
  const last = state.note === "" ? "" : `; at the end: ${state.note}`;
  return {
    reason: `start-timeout: not ready within ${formatDuration(policy.startTimeout)}${last}. Raise start_timeout if it only needs longer`,
    retry: true,
  };
}
