import { type Millis, millis } from "../core/ids.ts";
import type { Trace } from "./account.ts";
import type { Model, Replica } from "./fleet.ts";
import type { Relay } from "./relay.ts";

interface Sending {
  readonly model: Model;
  readonly replica: Replica;
  /** Replicas that failed the request before. */
  readonly failed: number;
  readonly policy: string;
}

/** The request is about to be sent to a replica. */
export function noteTry(trace: Trace, { model, replica, failed, policy }: Sending, now: Millis): void {
  const { length } = model.replicas;
  trace.attempts += 1;
  trace.tries.push({
    replica: replica.id,
    replicas: length,
    candidates: length - failed,
    inFlight: replica.inFlight,
    why: failed > 0 ? `${policy}, after ${String(failed)} failed` : policy,
    failure: "",
    at: millis(Math.round(now - trace.startedAt)),
  });
}

/** What went wrong with the last sending. */
export function noteFailure(trace: Trace, detail: string): void {
  const last = trace.tries.at(-1);
  if (last !== undefined) last.failure = detail;
  trace.span?.failed(detail);
}

export function noteWait(trace: Trace, since: Millis, now: Millis): void {
  const waited = millis(now - since);
  trace.waited = millis(trace.waited + waited);
  trace.span?.waited(waited);
}

/** The answer is over, as far as it came. */
export function noteRelay(trace: Trace, relay: Relay): void {
  noteProgress(trace, relay);
  trace.usage = relay.usage();
}

/** The same, and nothing more will be asked of it. */
export function noteLast(trace: Trace, relay: Relay | undefined): void {
  if (relay === undefined) return;
  noteRelay(trace, relay);
  relay.release();
}

/** How far the answer has come; what the engine says of its counts is not looked for. */
export function noteProgress(trace: Trace, relay: Relay): void {
  trace.firstTokenAt = relay.firstTokenAt;
  trace.bytesOut = relay.bytesOut;
  trace.isStream = relay.stream !== undefined;
  trace.events = relay.stream?.events ?? 0;
  trace.usageAtStart = relay.stream?.usageAtStart;
}
