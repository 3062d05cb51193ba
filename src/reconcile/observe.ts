import type { DesiredReplica } from "../core/desired.ts";
import { formatDuration } from "../core/format.ts";
import { bytes, type Millis, millis } from "../core/ids.ts";
import type { ObservedReplica, ObservedReplicaState } from "../core/observed.ts";
import { assertNever } from "../core/result.ts";
import { processOf, type SupervisedState, type Supervision } from "./supervision.ts";

/** What a node reports of a replica that it supervises. `engine` is its name and version, for people. */
export function observe(
  replica: DesiredReplica,
  { supervision, engine }: { readonly supervision: Supervision; readonly engine: string },
  now: Millis,
): ObservedReplica {
  return {
    id: replica.id,
    profile: replica.profile,
    specHash: replica.specHash,
    state: observedState(supervision, engine, now),
    restarts: Math.max(0, supervision.launches - 1),
    pid: processOf(supervision.state)?.pid,
  };
}

function observedState({ state, lastEnd }: Supervision, engine: string, now: Millis): ObservedReplicaState {
  switch (state.kind) {
    case "preparing":
      return { kind: "preparing", progress: state.progress };
    case "launching":
      return { kind: "starting", note: startingNote(lastEnd, "") };
    case "starting":
      return { kind: "starting", note: startingNote(lastEnd, state.note) };
    case "ready": {
      const { endpoint, capacity } = state;
      return { kind: "ready", endpoint, slots: capacity.slots, context: capacity.context, engine };
    }
    case "backoff":
      return observedBackoff(state, lastEnd, now);
    case "stopping":
      return observedStop(state);
    case "abandoning":
      return { kind: "stopping" };
    case "stopped":
      return { kind: "stopped" };
    case "failed":
      return { kind: "failed", reason: state.reason, lastLines: boundedLines(state.lastLines) };
    default:
      return assertNever(state);
  }
}

/** An attempt that is being ended for a new one is still on its way up for everybody else. */
function observedStop({ outcome, note }: Extract<SupervisedState, { kind: "stopping" }>): ObservedReplicaState {
  if (outcome.kind === "stopped") return { kind: "stopping" };
  const waitsFor = note === "" ? "waiting for its processes to end" : note;
  return { kind: "starting", note: `${outcome.attempt.end.reason}; ${waitsFor}` };
}

function startingNote(lastEnd: string, note: string): string {
  if (lastEnd === "") return note;
  return note === "" ? `the last start ended: ${lastEnd}` : `${note} (the last start ended: ${lastEnd})`;
}

function observedBackoff(
  state: Extract<SupervisedState, { kind: "backoff" }>,
  lastEnd: string,
  now: Millis,
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
