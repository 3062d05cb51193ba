import type { Revision } from "../core/revision.ts";
import type { Snapshot, StoredProfile } from "../store/store.ts";

type RolloutOutcome = Exclude<Revision["outcome"], "underway">;

export const ROLLOUT_OUTCOMES: readonly RolloutOutcome[] = ["ready", "replaced", "failed"];

export type RolloutCounts = Readonly<Record<RolloutOutcome, number>>;

export const NO_ROLLOUTS: RolloutCounts = { ready: 0, replaced: 0, failed: 0 };

type Profiles = Pick<Snapshot, "profiles">;

/** How each rollout ended that was underway before, or that began and ended in between. The first form of a profile counts too. */
export function endedRollouts(before: Profiles, after: Profiles): readonly RolloutOutcome[] {
  if (before.profiles === after.profiles) return [];
  const old = new Map(before.profiles.map((stored) => [stored.profile.name, stored]));
  return after.profiles.flatMap((stored) => {
    const was = old.get(stored.profile.name);
    return was === stored ? [] : endedOf(was?.revisions ?? [], stored);
  });
}

function endedOf(was: readonly Revision[], { revisions }: StoredProfile): readonly RolloutOutcome[] {
  const newest = was.at(-1)?.number ?? 0;
  return revisions.flatMap(({ number, outcome }) => {
    if (outcome === "underway") return [];
    const old = was.find((revision) => revision.number === number);
    const isNew = old === undefined ? number > newest : old.outcome === "underway";
    return isNew ? [outcome] : [];
  });
}
