import { type Millis, type ProfileName, profileName, type ReplicaId } from "../core/ids.ts";
import { baseCount, type Profile, specHash, withCount } from "../core/profile.ts";
import { type Replica, REPLICA_TRAITS } from "../core/replica-state.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Revision } from "../core/revision.ts";
import type { Snapshot, StoredProfile } from "../store/store.ts";
import { type Change, putProfiles } from "./manifest-change.ts";
import { clashesOfEarlier } from "./name-clashes.ts";

/** Why an operator's order is not carried out. */
export type OrderRefusal =
  | { readonly kind: "unknown"; readonly what: string; readonly name: string; readonly known: readonly string[] }
  | { readonly kind: "refused"; readonly why: string };

type Order<T> = Result<Change<T>, OrderRefusal>;

/** Another count, and nothing else. Answers with the one before. */
export function scaleProfile(
  before: Snapshot,
  name: string,
  { count, now }: { readonly count: number; readonly now: Millis },
): Order<number> {
  const found = profileOf(before, name);
  if (!found.ok) return found;
  const { profile } = found.value;
  if (profile.replicas.kind === "range") {
    const { min, max } = profile.replicas;
    const n = String(count);
    return refused(
      `${name} follows its load, between ${String(min)} and ${String(max)} replicas. To have ${n} whatever the load, ` +
        `apply it with replicas: ${n}; to have at least ${n}, with ${n} as replicas.min`,
    );
  }
  const was = baseCount(profile.replicas);
  const put = putProfiles(before, [withCount(profile, count)], { at: now, origin: "apply", why: "" });
  if (!put.ok) return refused(put.error.join("; "));
  const message = `${name} is to have ${String(count)} replicas; it had ${String(was)}`;
  const events = put.value.events.map((event) => ({ ...event, reason: "ProfileScaled", message }));
  return ok({ snapshot: put.value.snapshot, events, answer: was });
}

export interface Restarted {
  readonly profile: ProfileName;
  readonly replicas: readonly ReplicaId[];
}

/** Others take the place of a profile's replicas, or of one: no engine is ended before the rollout rules let it. */
export function restartReplicas(before: Snapshot, name: string): Order<Restarted> {
  const isMeant = ({ id, profile, state }: Replica): boolean =>
    (id === name || profile === name) && REPLICA_TRAITS[state.kind].counts && state.kind !== "pending";
  const meant = before.replicas.filter(isMeant);
  const profiles = before.profiles.map(({ profile }) => profile.name);
  const profile = before.replicas.find(({ id }) => id === name)?.profile ?? profileName(name);
  if (!profiles.includes(profile)) {
    const known = [...profiles, ...before.replicas.map(({ id }) => id)];
    return err({ kind: "unknown", what: "profile or replica", name, known });
  }
  const ids = new Set(meant.map(({ id }) => id));
  const replicas = before.replicas.map((replica) =>
    ids.has(replica.id) ? { ...replica, replace: "an operator asked for a restart" } : replica,
  );
  const message = `${name}: an operator asked for a restart; ${[...ids].join(", ") || "no replica"} will be replaced`;
  const event = { level: "info", subjectKind: "profile", subject: profile, reason: "RestartOrdered", message } as const;
  return ok({ snapshot: { ...before, replicas }, events: [event], answer: { profile, replicas: [...ids] } });
}

/** Back to an earlier form. Without a number: the newest one that did not fail. Answers with its number. */
export function undoRollout(
  before: Snapshot,
  name: string,
  { revision, now }: { readonly revision: number | undefined; readonly now: Millis },
): Order<number> {
  const found = profileOf(before, name);
  if (!found.ok) return found;
  const { revisions, profile } = found.value;
  const back = revision === undefined ? newestOther(revisions, profile) : numbered(revisions, revision);
  if (back === undefined) {
    const numbers = revisions.map((one) => String(one.number)).join(", ");
    return refused(
      revision === undefined
        ? `${name} has no earlier revision to go back to`
        : `${name} has no revision ${String(revision)} any more; there are ${numbers}`,
    );
  }
  const why = `an operator went back to revision ${String(back.number)}`;
  const clashes = clashesOfEarlier(before, back.profile);
  if (clashes.length > 0) return refused(clashes.join("; "));
  const put = putProfiles(before, [back.profile], { at: now, origin: "undo", why });
  if (!put.ok) return refused(put.error.join("; "));
  const events = put.value.events.map((event) => ({ ...event, reason: "RolloutUndone", message: `${name}: ${why}` }));
  return ok({ snapshot: put.value.snapshot, events, answer: back.number });
}

const newestOther = (revisions: readonly Revision[], present: Profile): Revision | undefined =>
  revisions.findLast(({ outcome, profile }) => outcome !== "failed" && specHash(profile) !== specHash(present));

const numbered = (revisions: readonly Revision[], wanted: number): Revision | undefined =>
  revisions.find(({ number }) => number === wanted);

function profileOf({ profiles }: Snapshot, name: string): Result<StoredProfile, OrderRefusal> {
  const found = profiles.find(({ profile }) => profile.name === name);
  if (found !== undefined) return ok(found);
  return err({ kind: "unknown", what: "profile", name, known: profiles.map(({ profile }) => profile.name) });
}

const refused = (why: string): { readonly ok: false; readonly error: OrderRefusal } =>
  err({ kind: "refused" as const, why });
