import { formatDuration } from "../core/format.ts";
import { type Millis, millis } from "../core/ids.ts";
import { assertNever } from "../core/result.ts";

/** What one look at an engine said about its work. */
export type WorkLook =
  /** It said how many requests it has, and counters that grow with everything it does. */
  | { readonly kind: "counted"; readonly requests: number; readonly done: number }
  /** A real piece of work came back. */
  | { readonly kind: "worked" }
  /** A real piece of work did not come back, however long it was given. */
  | { readonly kind: "workLost" }
  /** It was asked for its counters and said nothing; many answer only between two steps of their work. */
  | { readonly kind: "silent" };

/** What is remembered from look to look. */
export interface WorkMemory {
  /** When it last was seen to get on, or to have nothing to do. */
  readonly movedAt: Millis;
  readonly done: number | undefined;
  /** Whether it is known that it has work that does not get on. */
  readonly pending: boolean;
}

export interface HangPolicy {
  /** From here on it is called slow. */
  readonly slowAfter: Millis;
  /** An engine that says nothing is then given a piece of work, to see whether it comes back. */
  readonly proveAfter: Millis;
  /** Longer than any prefill, weight reload or compilation of a working engine takes between two signs of life. */
  readonly hungAfter: Millis;
}

export const HANG_POLICY: HangPolicy = {
  slowAfter: millis(30_000),
  proveAfter: millis(5 * 60_000),
  hungAfter: millis(10 * 60_000),
};

export type WorkVerdict =
  | { readonly kind: "fine" }
  | { readonly kind: "slow" }
  /** It is not known whether it has work at all: give it some. */
  | { readonly kind: "prove" }
  | { readonly kind: "hung"; readonly reason: string };

export const freshMemory = (now: Millis): WorkMemory => ({ movedAt: now, done: undefined, pending: false });

/**
 * A slow answer proves nothing, and neither does a quick one: a health page is often served beside the work. An engine is hung
 * only when it is known to have work, and nothing of that work has moved for very long.
 */
export function judgeWork(
  before: WorkMemory,
  look: WorkLook,
  { now, policy }: { readonly now: Millis; readonly policy: HangPolicy },
): { readonly memory: WorkMemory; readonly verdict: WorkVerdict } {
  const memory = remember(before, look, now);
  return { memory, verdict: verdictOn(memory, now, policy) };
}

function remember(before: WorkMemory, look: WorkLook, now: Millis): WorkMemory {
  switch (look.kind) {
    case "worked":
      return { ...before, movedAt: now, pending: false };
    case "workLost":
      return { ...before, pending: true };
    case "silent":
      return before;
    case "counted": {
      const { requests, done } = look;
      // A counter that fell belongs to an engine that began anew: that is movement too.
      if (requests === 0 || done !== before.done) return { movedAt: now, done, pending: requests > 0 };
      return { ...before, pending: true };
    }
    default:
      return assertNever(look);
  }
}

function verdictOn({ movedAt, pending }: WorkMemory, now: Millis, policy: HangPolicy): WorkVerdict {
  const still = millis(now - movedAt);
  if (still < policy.slowAfter) return { kind: "fine" };
  if (pending && still >= policy.hungAfter) {
    return { kind: "hung", reason: `hung: it has work and nothing of it has moved for ${formatDuration(still)}` };
  }
  return !pending && still >= policy.proveAfter ? { kind: "prove" } : { kind: "slow" };
}
