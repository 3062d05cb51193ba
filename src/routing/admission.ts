import { type Millis, millis } from "../core/ids.ts";
import { type Health, mayTry } from "./health.ts";
import type { Candidate, RoutingPolicy } from "./policy.ts";

interface Admissible extends Candidate {
  readonly health: Health;
}

export type Admission<T> =
  | { readonly kind: "send"; readonly to: T }
  /** The model has no replica at all. */
  | { readonly kind: "none" }
  /** All that were not tried yet are set aside; the first comes back after the wait. */
  | { readonly kind: "aside"; readonly wait: Millis }
  /** Each has been tried for this request. */
  | { readonly kind: "exhausted" };

export interface Ask<T extends Admissible> {
  readonly replicas: readonly T[];
  /** Those that failed this request. */
  readonly tried: readonly T[];
  readonly policy: RoutingPolicy;
}

/** Which replica a request goes to, or why to none. */
export function admit<T extends Admissible>(ask: Ask<T>, now: Millis, random: () => number): Admission<T> {
  const { replicas, tried, policy } = ask;
  if (replicas.length === 0) return { kind: "none" };
  const free = isAllFree(ask, now) ? replicas : replicas.filter((r) => mayTry(r.health, now) && !tried.includes(r));
  if (isNotEmpty(free)) return { kind: "send", to: policy.pick(free, random) };
  const returns = replicas.flatMap((r) => (r.health.kind === "aside" && !tried.includes(r) ? [r.health.until] : []));
  if (returns.length === 0) return { kind: "exhausted" };
  return { kind: "aside", wait: millis(Math.max(0, Math.min(...returns) - now)) };
}

/** The usual case, without building a list. */
function isAllFree<T extends Admissible>({ replicas, tried }: Ask<T>, now: Millis): boolean {
  return tried.length === 0 && replicas.every((replica) => mayTry(replica.health, now));
}

const isNotEmpty = <T>(list: readonly T[]): list is readonly [T, ...T[]] => list.length > 0;
