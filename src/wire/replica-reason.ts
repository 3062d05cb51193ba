import { formatBytes, formatDuration } from "../core/format.ts";
import type { Millis } from "../core/ids.ts";
import type { Progress, Rejection, ReplicaKind, ReplicaState } from "../core/replica-state.ts";

type StateOf = { readonly [S in ReplicaState as S["kind"]]: S };

/** Each state has its words here, so a new one cannot be forgotten. */
const REASONS: { readonly [K in ReplicaKind]: (state: StateOf[K], inFlight: number) => string } = {
  pending: ({ rejections }) => rejectionsInWords(rejections),
  placed: () => "waiting for its node to begin",
  preparing: ({ progress }) => progressInWords(progress),
  starting: ({ note }) => note || "the engine is starting and loading the model",
  ready: () => "serving",
  draining: ({ why, deadline }, inFlight) => `${prefixed(why)}${drainInWords(inFlight, deadline)}`,
  stopping: ({ why, note = "waiting for the engine to end" }) => `${prefixed(why)}${note}`,
  stopped: () => "its node has stopped it",
  failed: ({ reason }) => reason || "failed, and its node did not say why",
  lost: ({ reason }) => reason || "its node is lost",
};

/** What a replica waits for, or why it is as it is, in words. `inFlight`: requests that it is working on. */
export const replicaReason = (state: ReplicaState, inFlight: number): string => inWords(state.kind, state, inFlight);

const inWords = <K extends ReplicaKind>(kind: K, state: StateOf[K], inFlight: number): string =>
  REASONS[kind](state, inFlight);

const prefixed = (why: string): string => (why === "" ? "" : `${why}; `);

function rejectionsInWords(rejections: readonly Rejection[]): string {
  const [first] = rejections;
  if (first === undefined) return "no node has joined yet";
  const others = rejections.length - 1;
  const more = others === 0 ? "" : `; and ${String(others)} more ${others === 1 ? "node says" : "nodes say"} no`;
  return `no node takes it: ${first.node}: ${first.reason}${more}`;
}

function progressInWords(progress: Progress | undefined): string {
  if (progress === undefined) return "its node is getting the engine and the weights";
  const { what, bytesDone, bytesTotal, bytesPerSecond } = progress;
  const facts = [amountInWords(bytesDone, bytesTotal)];
  if (bytesPerSecond > 0) {
    facts.push(`${formatBytes(bytesPerSecond)}/s`);
    const left = ((bytesTotal - bytesDone) / bytesPerSecond) * 1000;
    // Under a second is as good as done, and an engine that is being tried has no time left to show.
    if (left >= 1000) facts.push(`${formatDuration(left)} left`);
  }
  const shown = facts.filter((fact) => fact !== "");
  return shown.length === 0 ? what : `${what}: ${shown.join(", ")}`;
}

function amountInWords(done: number, total: number): string {
  if (total <= 0) return done > 0 ? `${formatBytes(done)} so far` : "";
  // Down, so that 100% means all of it.
  const percent = Math.min(100, Math.floor((done / total) * 100));
  return `${String(percent)}% of ${formatBytes(total)}`;
}

function drainInWords(inFlight: number, deadline: Millis): string {
  if (inFlight === 0) return "waiting for the routers to let go of it";
  const requests = inFlight === 1 ? "1 request" : `${String(inFlight)} requests`;
  const until = new Date(deadline);
  const limit = Number.isNaN(until.getTime()) ? "" : `, until ${until.toISOString()} at the latest`;
  return `waiting for ${requests} in flight${limit}`;
}
