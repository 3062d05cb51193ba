import type { Millis } from "../core/ids.ts";
import type { Endpoint, Progress } from "../core/replica-state.ts";

/** One OS process for as long as the machine is up. A pid alone is given again to others. */
export interface ProcessRef {
  readonly pid: number;
  /** Clock ticks between boot and its start: /proc/<pid>/stat, field 22. */
  readonly startTicks: number;
}

/** What a ready engine said of itself. */
export interface Capacity {
  readonly slots: number;
  readonly context: number;
}

/** Why an attempt came to its end. */
export interface AttemptEnd {
  readonly reason: string;
  /** Whether the same start could go better next time. */
  readonly retry: boolean;
  /** What it waits for lies outside the engine and may pass by itself: it is tried for as long as it is wanted. */
  readonly waits?: true;
  /** Of a rank: it ended because another did, or was not there. */
  readonly blamesOthers?: true;
}

/** One start of an engine, when it is over. */
export interface Attempt {
  readonly end: AttemptEnd;
  /** How long it was ready; undefined: it never was. */
  readonly served: Millis | undefined;
}

/** What a stop leads to once the exit is proven. */
export type StopOutcome = { readonly kind: "stopped" } | { readonly kind: "failure"; readonly attempt: Attempt };

export type SupervisedState =
  | { readonly kind: "preparing"; readonly progress: Progress | undefined }
  /** Of a rank that has engine and weights: until all ranks may start. */
  | { readonly kind: "waiting" }
  /** The port, the record and the spawn. */
  | { readonly kind: "launching" }
  /** Stopped before there was a process: waits for the preparation or the launch to say how it ended. */
  | { readonly kind: "abandoning" }
  | {
      readonly kind: "starting";
      readonly process: ProcessRef;
      readonly endpoint: Endpoint;
      readonly deadline: Millis;
      /** What it still lacks, as its last probe said. */
      readonly note: string;
    }
  | {
      readonly kind: "ready";
      readonly process: ProcessRef;
      readonly endpoint: Endpoint;
      readonly capacity: Capacity;
      readonly since: Millis;
      /** Health requests in a row without an answer. A busy engine has some; it is no reason to end it. */
      readonly unanswered: number;
    }
  | {
      readonly kind: "stopping";
      readonly process: ProcessRef;
      readonly killAt: Millis;
      readonly outcome: StopOutcome;
      /** What is still held although every process has ended; "" when nothing is known of that. */
      readonly note: string;
    }
  | { readonly kind: "backoff"; readonly retryAt: Millis; readonly phase: "preparing" | "starting" }
  | { readonly kind: "stopped" }
  | { readonly kind: "failed"; readonly reason: string; readonly lastLines: readonly string[] };

/** Everything that is remembered of one replica. Its only writer is `step`. */
export interface Supervision {
  readonly state: SupervisedState;
  /** Attempts in a row that ended badly. */
  readonly failures: number;
  /** How often in a row nothing could be started at all, for a reason that may pass. Left out: not once. */
  readonly refusals?: number;
  /** Processes started so far. */
  readonly launches: number;
  /** Why the last attempt ended; "" before any did. */
  readonly lastEnd: string;
}

export type SupervisorEvent =
  | { readonly kind: "progressed"; readonly progress: Progress }
  | { readonly kind: "prepared" }
  | { readonly kind: "prepareFailed"; readonly end: AttemptEnd }
  /** All ranks may start. */
  | { readonly kind: "startOrdered" }
  /** This rank cannot take part in the present attempt. */
  | { readonly kind: "partLost"; readonly end: AttemptEnd }
  | { readonly kind: "spawned"; readonly process: ProcessRef; readonly endpoint: Endpoint }
  | { readonly kind: "spawnFailed"; readonly end: AttemptEnd }
  /** A probe of a starting engine that did not make it ready. */
  | { readonly kind: "notYet"; readonly note: string }
  /** A real piece of work came back. */
  | { readonly kind: "proven"; readonly capacity: Capacity }
  | { readonly kind: "answered" }
  | { readonly kind: "unanswered" }
  /** It has work and has done none of it for longer than anything takes. */
  | { readonly kind: "hung"; readonly reason: string }
  /** Nothing of it runs any more, and yet something is not given back. */
  | { readonly kind: "stillHeld"; readonly note: string }
  | {
      readonly kind: "exited";
      readonly end: AttemptEnd;
      readonly lastLines: readonly string[];
      /** Processes of this launch that outlived the first one. */
      readonly leftovers: boolean;
    }
  | { readonly kind: "stopRequested" }
  | { readonly kind: "tick" };

export type Effect =
  | { readonly kind: "prepare" }
  | { readonly kind: "launch" }
  /** Let go of a preparation or a launch that is under way. */
  | { readonly kind: "abandon" }
  /** To every process of the launch. */
  | { readonly kind: "signal"; readonly process: ProcessRef; readonly signal: "SIGTERM" | "SIGKILL" }
  /** The launch is over and proven so: its record has no more meaning. */
  | { readonly kind: "forget" };

/** A replica that the node was just told to run. */
export const newSupervision: Supervision = {
  state: { kind: "preparing", progress: undefined },
  failures: 0,
  launches: 0,
  lastEnd: "",
};

/** Each state by its kind. */
export type StateOf = { readonly [S in SupervisedState as S["kind"]]: S };

const never = (): undefined => undefined;

const DUE: { readonly [K in SupervisedState["kind"]]: (state: StateOf[K]) => Millis | undefined } = {
  starting: ({ deadline }) => deadline,
  stopping: ({ killAt }) => killAt,
  backoff: ({ retryAt }) => retryAt,
  preparing: never,
  waiting: never,
  launching: never,
  abandoning: never,
  ready: never,
  stopped: never,
  failed: never,
};

/** When `tick` has something to do next; undefined: never. */
export const wakeAt = (state: SupervisedState): Millis | undefined => dueOf(state.kind, state);

const dueOf = <K extends SupervisedState["kind"]>(kind: K, state: StateOf[K]): Millis | undefined => DUE[kind](state);

/** The process that a state speaks of. */
export function processOf(state: SupervisedState): ProcessRef | undefined {
  return state.kind === "starting" || state.kind === "ready" || state.kind === "stopping" ? state.process : undefined;
}
