import type { FetchFailure } from "../../platform/fetch/download.ts";

/** Why a node does not get a model. */
export interface WeightFailure {
  /** source, choice, offline, gated, …, or what the fetch answered. */
  readonly kind: string;
  /** For people: what happened, with which source, and what to do. */
  readonly message: string;
  /** Whether the same request may go better later, without anybody changing anything. */
  readonly retry: boolean;
}

const PASSING: readonly FetchFailure["kind"][] = ["network", "stalled", "rate-limited", "no-space", "http"];

/** With the source in front: the address alone does not tell everyone which model it is. */
export const fromFetch = (source: string, failure: FetchFailure): WeightFailure => ({
  kind: failure.kind,
  message: `${source}: ${failure.message}`,
  retry: PASSING.includes(failure.kind),
});

export const lasting = (kind: string, message: string): WeightFailure => ({ kind, message, retry: false });
export const passing = (kind: string, message: string): WeightFailure => ({ kind, message, retry: true });
