import type { DesiredReplica } from "../core/desired.ts";
import type { RankReport } from "../core/gang.ts";
import { formatDuration } from "../core/format.ts";
import { bytes, type Millis, millis } from "../core/ids.ts";
import type { MeasuredMemory } from "../core/measured-memory.ts";
import type { ObservedReplica, ObservedReplicaState } from "../core/observed.ts";
import { processOf, type StateOf, type SupervisedState, type Supervision } from "./supervision.ts";

export interface Supervised {
  readonly supervision: Supervision;
  /** Its name and version, for people. */
  readonly engine: string;
  /** Of one rank of a replica that spans nodes. */
  readonly rank?: RankReport | undefined;
  /** Of its present launch. */
  readonly memory?: MeasuredMemory | undefined;
}

/** What a node reports of a replica that it supervises. */
export function observe(
  replica: DesiredReplica,
  { supervision, engine, rank, memory }: Supervised,
  now: Millis,
): ObservedReplica {
  return {
    id: replica.id,
    profile: replica.profile,
    specHash: replica.specHash,
    state: observedState(supervision.state.kind, supervision.state, { lastEnd: supervision.lastEnd, engine, now }),
    restarts: Math.max(0, supervision.launches - 1),
    pid: processOf(supervision.state)?.pid,
    ...(rank === undefined ? {} : { rank }),
    ...(memory === undefined || supervision.state.kind !== "ready" ? {} : { memory }),
  };
}

interface Beside extends Pick<Supervision, "lastEnd"> {
  readonly engine: string;
  readonly now: Millis;
}

type Observing = {
  readonly [K in SupervisedState["kind"]]: (state: StateOf[K], beside: Beside) => ObservedReplicaState;
};

const OBSERVED: Observing = {
  preparing: ({ progress }) => ({ kind: "preparing", progress }),
  waiting: (_, { lastEnd }) => ({ kind: "starting", note: startingNote(lastEnd, "waits for the other ranks") }),
  launching: (_, { lastEnd }) => ({ kind: "starting", note: startingNote(lastEnd, "") }),
  starting: ({ note }, { lastEnd }) => ({ kind: "starting", note: startingNote(lastEnd, note) }),
  ready: ({ endpoint, capacity: { slots, context } }, { engine }) => ({
    kind: "ready",
    endpoint,
    slots,
    context,
    engine,
  }),
  backoff: observedBackoff,
  stopping: observedStop,
  abandoning: () => ({ kind: "stopping" }),
  stopped: () => ({ kind: "stopped" }),
  failed: ({ reason, lastLines }) => ({ kind: "failed", reason, lastLines: boundedLines(lastLines) }),
};

const observedState = <K extends SupervisedState["kind"]>(
  kind: K,
  state: StateOf[K],
  beside: Beside,
): ObservedReplicaState => OBSERVED[kind](state, beside);

/** An attempt that is being ended for a new one is still on its way up for everybody else. */
function observedStop({ outcome, note }: Extract<SupervisedState, { kind: "stopping" }>): ObservedReplicaState {
  if (outcome.kind === "stopped") return { kind: "stopping", ...(note === "" ? {} : { note }) };
  const waitsFor = note === "" ? "waiting for its processes to end" : note;
  return { kind: "starting", note: `${outcome.attempt.end.reason}; ${waitsFor}` };
}

function startingNote(lastEnd: string, note: string): string {
  if (lastEnd === "") return note;
  return note === "" ? `the last start ended: ${lastEnd}` : `${note} (the last start ended: ${lastEnd})`;
}

function observedBackoff(
  state: Extract<SupervisedState, { kind: "backoff" }>,
  { lastEnd, now }: Beside,
): ObservedReplicaState {
  const note = `${lastEnd}; next try in ${formatDuration(millis(Math.max(1000, state.retryAt - now)))}`;
  if (state.phase === "starting") return { kind: "starting", note };
  return {
    kind: "preparing",
    progress: { what: note, bytesDone: bytes(0), bytesTotal: bytes(0), bytesPerSecond: 0 },
  };
}

/** A report must fit into one message whatever an engine printed: at most so many characters of log in each. */
const REPORTED_CHARACTERS = 32 * 1024;
const LINE_CHARACTERS = 1024;

/** The end of a log, cut to what a report may carry, and marked where it was cut. */
export function boundedLines(lines: readonly string[]): readonly string[] {
  const kept: string[] = [];
  let room = REPORTED_CHARACTERS;
  for (const line of lines.toReversed()) {
    const short = line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)} … (line cut)` : line;
    if (short.length + 1 > room) break;
    room -= short.length + 1;
    kept.push(short);
  }
  const left = lines.length - kept.length;
  if (left > 0) kept.push(`… (${String(left)} earlier lines left out)`);
  return kept.reverse();
}
