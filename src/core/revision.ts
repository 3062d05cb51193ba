import type { Millis } from "./ids.ts";
import type { Profile } from "./profile.ts";

/** Who brought the revision about: an operator's manifest, an operator's `rollout undo`, or the control plane itself. */
type RevisionOrigin = "apply" | "undo" | "rollback";

/** A form that a profile had: altering what makes a running engine the right one begins another. */
export interface Revision {
  /** From 1 on, never used twice. */
  readonly number: number;
  readonly profile: Profile;
  /** What `apply` takes back, as JSON. */
  readonly manifest: string;
  readonly at: Millis;
  readonly origin: RevisionOrigin;
  /** "failed": given up, its `why` says for what reason. "replaced": another came before it was ready. */
  readonly outcome: "underway" | "ready" | "replaced" | "failed";
  readonly why: string;
}

/** So many are remembered of each profile. */
export const KEPT_REVISIONS = 10;
