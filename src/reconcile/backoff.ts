import { type Millis, millis } from "../core/ids.ts";

export interface BackoffPolicy {
  readonly base: Millis;
  readonly max: Millis;
}

/** The longest wait before try number `attempt` (1 is the first repetition): base, doubled each time, up to max. */
export function ceilingOf(attempt: number, policy: BackoffPolicy): number {
  // 2^30 bases are above any maximum, and beyond it the doubling would lose its meaning as a number.
  return Math.min(policy.max, policy.base * 2 ** Math.min(Math.max(0, attempt - 1), 30));
}

/** Full jitter: anything from no wait to the ceiling, so that a fleet that failed together does not return together. */
export function jitteredDelay(attempt: number, policy: BackoffPolicy, random: () => number): Millis {
  return millis(Math.round(random() * ceilingOf(attempt, policy)));
}

/** How a connection to a control plane came to an end. */
export interface ConnectionEnd {
  /** How long it was in use; 0 when it never was. */
  readonly heldFor: Millis;
  /** The control plane said no, and a quick repetition would hear the same. */
  readonly refused: boolean;
}

export interface Reconnect {
  /** Losses in a row, without a stable connection between them. */
  readonly losses: number;
  readonly delay: Millis;
}

/** A connection that held this long was a real one. Shorter ones count on, or a server that accepts and closes is hammered. */
export const STABLE_CONNECTION = millis(60_000);

/** When to dial again: random between base and a ceiling that doubles with each loss; at once at max after a refusal. */
export function afterConnection(
  lossesBefore: number,
  end: ConnectionEnd,
  { policy, random }: { readonly policy: BackoffPolicy; readonly random: () => number },
): Reconnect {
  const losses = end.heldFor >= STABLE_CONNECTION ? 1 : lossesBefore + 1;
  if (end.refused) return { losses, delay: policy.max };
  const spread = ceilingOf(losses + 1, policy) - policy.base;
  return { losses, delay: millis(Math.round(policy.base + random() * Math.max(0, spread))) };
}
