import type { NewEvent } from "../core/event.ts";
import type { Millis } from "../core/ids.ts";
import { type Profile, specHash } from "../core/profile.ts";
import type { Replica } from "../core/replica-state.ts";
import { err } from "../core/result.ts";
import type { Revision } from "../core/revision.ts";
import { judgeRollout } from "../reconcile/judge-rollout.ts";
import type { Snapshot, StoredProfile } from "../store/store.ts";
import { type Demands, toBeProven } from "./scaling.ts";
import { putProfiles } from "./manifest-change.ts";
import { clashesOfEarlier } from "./name-clashes.ts";

interface Settled {
  readonly snapshot: Snapshot;
  readonly events: readonly NewEvent[];
}

/**
 * Notes which changes are complete, and takes back those that do not become ready. What is taken back to was ready once; a
 * return is never taken back itself, so that two forms that both fail do not chase each other.
 */
export function settleRollouts(
  before: Snapshot,
  { now, demands }: { readonly now: Millis; readonly demands: Demands },
): Settled {
  const underway = before.profiles.filter(({ revisions }) => revisions.at(-1)?.outcome === "underway");
  if (underway.length === 0) return { snapshot: before, events: [] };
  const byProfile = Map.groupBy(before.replicas, ({ profile }) => profile);
  return underway.reduce<Settled>(
    (settled, stored) => {
      const { name } = stored.profile;
      const judged = toBeProven(stored.profile, demands);
      if (judged === undefined) return settled;
      return settleOne(settled, { stored, judged, replicas: byProfile.get(name) ?? [], now });
    },
    { snapshot: before, events: [] },
  );
}

interface Underway {
  readonly stored: StoredProfile;
  /** With as many replicas as must be ready. */
  readonly judged: Profile;
  readonly replicas: readonly Replica[];
  readonly now: Millis;
}

function settleOne(settled: Settled, { stored, judged, replicas, now }: Underway): Settled {
  const last = stored.revisions.at(-1);
  const verdict = judgeRollout(judged, replicas, now);
  if (last === undefined || verdict.kind === "underway") return settled;
  if (verdict.kind === "complete") {
    return {
      snapshot: withLast(settled.snapshot, stored, { ...last, outcome: "ready" }),
      events: last.number === 1 ? settled.events : [...settled.events, completeEvent(last)],
    };
  }
  const back = lastReady(stored.revisions, last);
  if (last.origin === "rollback" || back === undefined) return settled;
  return rolledBack(settled, { stored, last, back, why: verdict.why.replaceAll("\n", " "), now });
}

interface Rollback {
  readonly stored: StoredProfile;
  readonly last: Revision;
  readonly back: Revision;
  readonly why: string;
  readonly now: Millis;
}

function rolledBack({ snapshot, events }: Settled, { stored, last, back, why, now }: Rollback): Settled {
  const given = withLast(snapshot, stored, { ...last, outcome: "failed", why });
  const clashes = clashesOfEarlier(given, back.profile);
  const put =
    clashes.length > 0 ? err(clashes) : putProfiles(given, [back.profile], { at: now, origin: "rollback", why });
  const { name } = stored.profile;
  const event = { level: "error", subjectKind: "profile", subject: name } as const;
  const failure = `${name}: revision ${String(last.number)} does not become ready: ${why}`;
  if (!put.ok) {
    const message = `${failure}. It cannot be taken back either: ${put.error.join("; ")}`;
    return { snapshot: given, events: [...events, { ...event, reason: "RollbackRefused", message }] };
  }
  const message = `${failure}. Revision ${String(back.number)}, which was ready, is applied again`;
  return { snapshot: put.value.snapshot, events: [...events, { ...event, reason: "RolledBack", message }] };
}

/** The newest form that was ready and is not the present one. */
const lastReady = (revisions: readonly Revision[], present: Revision): Revision | undefined =>
  revisions.findLast(
    ({ number, outcome, profile }) =>
      number < present.number && outcome === "ready" && specHash(profile) !== specHash(present.profile),
  );

function withLast(snapshot: Snapshot, stored: StoredProfile, last: Revision): Snapshot {
  const revisions = [...stored.revisions.slice(0, -1), last];
  const profiles = snapshot.profiles.map((one) =>
    one.profile.name === stored.profile.name ? { ...one, revisions } : one,
  );
  return { ...snapshot, profiles };
}

const completeEvent = ({ profile, number }: Revision): NewEvent => ({
  level: "info",
  subjectKind: "profile",
  subject: profile.name,
  reason: "RolloutComplete",
  message: `${profile.name}: revision ${String(number)} is rolled out`,
});
