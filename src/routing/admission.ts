import { type Millis, millis } from "../core/ids.ts";
import { type Health, mayTry } from "./health.ts";
import { type Candidate, isNotEmpty, type PickContext, type RoutingPolicy } from "./policy.ts";

interface Admissible extends Candidate {
  readonly health: Health;
  /** Requests that it is given at once; Infinity when its engine does not say how many it works on. */
  readonly most: number;
}

export type Admission<T> =
  | { readonly kind: "send"; readonly to: T }
  /** The model has no replica at all. */
  | { readonly kind: "none" }
  /** Those that could take it have as many requests as they are given at once. */
  | { readonly kind: "full" }
  /** All that were not tried yet are set aside; the first comes back after the wait. */
  | { readonly kind: "aside"; readonly wait: Millis }
  /** Each has been tried for this request. */
  | { readonly kind: "exhausted" };

export interface Ask<T extends Admissible> {
  readonly replicas: readonly T[];
  /** Those that failed this request. */
  readonly tried: readonly T[];
  /** Counting tokens takes none of an engine's slots. */
  readonly needsSlot: boolean;
  readonly policy: RoutingPolicy;
  readonly context: PickContext;
}

/** Which replica a request goes to, or why to none. */
export function admit<T extends Admissible>(ask: Ask<T>, now: Millis): Admission<T> {
  const { replicas, tried, policy, context } = ask;
  if (replicas.length === 0) return { kind: "none" };
  const isFree = (replica: T): boolean => !ask.needsSlot || replica.inFlight < replica.most;
  // The usual case, without a look at each of what may be a thousand: the one that would be chosen of all can take it.
  if (tried.length === 0 && isNotEmpty(replicas)) {
    const first = policy.pick(replicas, context);
    if (mayTry(first.health, now) && isFree(first)) return { kind: "send", to: first };
  }
  const able = replicas.filter((replica) => mayTry(replica.health, now) && !tried.includes(replica));
  const free = able.filter(isFree);
  if (isNotEmpty(free)) return { kind: "send", to: policy.pick(free, context) };
  if (able.length > 0) return { kind: "full" };
  const returns = replicas.flatMap((r) => (r.health.kind === "aside" && !tried.includes(r) ? [r.health.until] : []));
  if (returns.length === 0) return { kind: "exhausted" };
  return { kind: "aside", wait: millis(Math.max(0, Math.min(...returns) - now)) };
}
