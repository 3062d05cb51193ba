import { profileManifest } from "../config/profile.ts";
import { namesOf } from "../core/adapter.ts";
import type { NewEvent } from "../core/event.ts";
import { canonicalJson } from "../core/fingerprint.ts";
import type { Millis, NodeId, ProfileName } from "../core/ids.ts";
import { type Profile, specHash } from "../core/profile.ts";
import { err, ok, type Result } from "../core/result.ts";
import { KEPT_REVISIONS, type Revision } from "../core/revision.ts";
import type { Snapshot, StoredSpec } from "../store/store.ts";
import { specKey } from "./changes.ts";

export interface AppliedProfile {
  readonly name: ProfileName;
  readonly outcome: "created" | "changed" | "unchanged";
}

/** A snapshot that was altered on an operator's word. */
export interface Change<T> {
  readonly snapshot: Snapshot;
  readonly events: readonly NewEvent[];
  readonly answer: T;
}

/** All of the profiles or, with every reason, none. */
export function applyProfiles(
  before: Snapshot,
  profiles: readonly Profile[],
  now: Millis,
): Result<Change<readonly AppliedProfile[]>, readonly string[]> {
  return putProfiles(before, profiles, { at: now, origin: "apply", why: "" });
}

/** As {@link applyProfiles}, on whoever's word. */
export function putProfiles(
  before: Snapshot,
  profiles: readonly Profile[],
  cause: Pick<Revision, "at" | "origin" | "why">,
): Result<Change<readonly AppliedProfile[]>, readonly string[]> {
  const names = new Set(profiles.map(({ name }) => name));
  const others = before.profiles.filter(({ profile }) => !names.has(profile.name)).map(({ profile }) => profile);
  const clashes = profiles.flatMap((profile) => servedBy(profile, others));
  if (clashes.length > 0) return err(clashes);
  const stored = new Map(before.profiles.map((one) => [one.profile.name, one]));
  const specs = new Map(before.specs.map((one) => [specKey(one), one]));
  const answer = profiles.map((profile): AppliedProfile => {
    const was = stored.get(profile.name);
    if (was !== undefined && isSame(was.profile, profile)) return { name: profile.name, outcome: "unchanged" };
    const manifest = profileManifest(profile);
    const revisions = withRevision(was?.revisions ?? [], { ...cause, profile, manifest });
    stored.set(profile.name, {
      profile,
      manifest,
      createdAt: was?.createdAt ?? cause.at,
      updatedAt: cause.at,
      revisions,
    });
    const spec: StoredSpec = { profile: profile.name, specHash: specHash(profile), spec: profile };
    specs.set(specKey(spec), spec);
    return { name: profile.name, outcome: was === undefined ? "created" : "changed" };
  });
  const events = answer.filter(({ outcome }) => outcome !== "unchanged").map(appliedEvent);
  const snapshot = {
    ...before,
    profiles: [...stored.values()].toSorted((a, b) => (a.profile.name < b.profile.name ? -1 : 1)),
    specs: [...specs.values()].toSorted((a, b) => (specKey(a) < specKey(b) ? -1 : 1)),
  };
  return ok({ snapshot: events.length === 0 ? before : snapshot, events, answer });
}

/** What restarts nothing, such as another count, alters the present form and begins none. */
function withRevision(revisions: readonly Revision[], next: Omit<Revision, "number" | "outcome">): readonly Revision[] {
  const last = revisions.at(-1);
  if (last === undefined) return [{ ...next, number: 1, outcome: "underway" }];
  const { profile, manifest } = next;
  const others = revisions.slice(0, -1);
  if (specHash(last.profile) === specHash(profile)) return [...others, { ...last, profile, manifest }];
  const settled = last.outcome === "underway" ? { ...last, outcome: "replaced" as const } : last;
  const begun = { ...next, number: last.number + 1, outcome: "underway" as const };
  return [...others, settled, begun].slice(-KEPT_REVISIONS);
}

const isSame = (a: Profile, b: Profile): boolean => canonicalJson(a) === canonicalJson(b);

function servedBy(profile: Profile, others: readonly Profile[]): readonly string[] {
  return others.flatMap((other) =>
    namesOf(profile)
      .filter((name) => namesOf(other).includes(name))
      .map((name) => `${profile.name}: the model name ${name} is already served by the profile ${other.name}`),
  );
}

const appliedEvent = ({ name, outcome }: AppliedProfile): NewEvent => ({
  level: "info",
  subjectKind: "profile",
  subject: name,
  reason: outcome === "created" ? "ProfileCreated" : "ProfileChanged",
  message: `profile ${name} was ${outcome}`,
});

/** Its replicas follow: they drain and stop. */
export function deleteProfile(before: Snapshot, name: string): Result<Change<undefined>, readonly string[]> {
  const profiles = before.profiles.filter(({ profile }) => profile.name !== name);
  if (profiles.length === before.profiles.length) return err(before.profiles.map(({ profile }) => profile.name));
  const event = { level: "info", subjectKind: "profile", subject: name, reason: "ProfileDeleted" } as const;
  const events = [{ ...event, message: `profile ${name} was deleted; its replicas drain and stop` }];
  return ok({ snapshot: { ...before, profiles }, events, answer: undefined });
}

/** For a machine that does not come back. What ran there is given up. */
export function deleteNode(before: Snapshot, id: NodeId): Change<undefined> {
  const event = { level: "info", subjectKind: "node", subject: id, reason: "NodeDeleted" } as const;
  return {
    snapshot: { ...before, nodes: before.nodes.filter((node) => node.id !== id) },
    events: [{ ...event, message: `node ${id} was removed from the cluster` }],
    answer: undefined,
  };
}
