import type { ErrorCode } from "../core/errors.ts";
import type { HealthEvent } from "./health.ts";

/** How an attempt at an engine can fail. */
export type FailureKind =
  /** No connection: refused, unreachable, or not made in time. Nothing was sent. */
  | "refused"
  /** A kept connection was closed by the engine before a byte of the answer: the race that every keep-alive has. */
  | "stale"
  /** A fresh connection broke before the answer began. */
  | "reset"
  /** What came is not HTTP as an engine speaks it, or a redirect. */
  | "garbage"
  /** The engine does not take the router's key. */
  | "keyRefused"
  /** The engine said that it cannot take more now (429, 503). */
  | "busy"
  /** The engine does not go on with half an answer of another. */
  | "unwilling"
  /** No answer within the limit. */
  | "firstByteTimeout"
  /** The answer began and stopped coming. */
  | "idleTimeout"
  /** The answer began and the connection broke. */
  | "broke";

interface FailureSpec {
  /** Whether another replica may be asked while nothing has reached the client. */
  readonly another: boolean;
  readonly code: ErrorCode;
  readonly health: HealthEvent | undefined;
}

/**
 * Each kind answers every question. A timeout is not repeated elsewhere: a prompt that takes one replica longer than the
 * limit would take each of the others as long, one after the other.
 */
export const FAILURES: Readonly<Record<FailureKind, FailureSpec>> = {
  refused: { another: true, code: "ENGINE_BROKE_OFF", health: "refused" },
  stale: { another: true, code: "ENGINE_BROKE_OFF", health: undefined },
  reset: { another: true, code: "ENGINE_BROKE_OFF", health: "broke" },
  garbage: { another: true, code: "ENGINE_BROKE_OFF", health: "broke" },
  keyRefused: { another: true, code: "ENGINE_BROKE_OFF", health: "broke" },
  busy: { another: true, code: "ENGINE_BROKE_OFF", health: undefined },
  unwilling: { another: true, code: "ENGINE_BROKE_OFF", health: undefined },
  firstByteTimeout: { another: false, code: "ENGINE_TIMEOUT", health: "timedOut" },
  idleTimeout: { another: false, code: "ENGINE_TIMEOUT", health: "timedOut" },
  broke: { another: true, code: "ENGINE_BROKE_OFF", health: "broke" },
};

/** What this request has behind it. */
export interface Attempted {
  /** Anything at all, a status line included. */
  readonly reachedClient: boolean;
  /** What reached the client is known, and another replica can go on from there. */
  readonly canGoOn: boolean;
  readonly bodyRepeatable: boolean;
  /** Attempts at replicas so far, the failed one included, stale connections not. */
  readonly attempts: number;
  /** At this replica. */
  readonly staleRetried: boolean;
}

/** A request that has killed so many engines is not given another one. */
const MOST_ATTEMPTS = 3;

export type RetryDecision =
  | { readonly kind: "sameReplica" }
  | { readonly kind: "anotherReplica" }
  | { readonly kind: "fail"; readonly code: ErrorCode };

/** First rule that applies wins. */
export function decideRetry(failure: FailureKind, attempted: Attempted): RetryDecision {
  const { another, code } = FAILURES[failure];
  if ((attempted.reachedClient && !attempted.canGoOn) || !attempted.bodyRepeatable) return { kind: "fail", code };
  if (failure === "stale" && !attempted.staleRetried) return { kind: "sameReplica" };
  if (!another || attempted.attempts >= MOST_ATTEMPTS) return { kind: "fail", code };
  return { kind: "anotherReplica" };
}
