import type { Profile } from "../core/profile.ts";
import type { Snapshot } from "../store/store.ts";
import { aliasProblems } from "./alias-change.ts";
import { type NamedObjects, namedWith } from "./named-objects.ts";
import { upstreamProblems } from "./upstreams/change.ts";

/** Why these do not go together, beside what profiles say of each other. */
export const nameClashes = (all: NamedObjects): readonly string[] => [...aliasProblems(all), ...upstreamProblems(all)];

/** Why the profile cannot become what it was before: its names can have been given away since. */
export const clashesOfEarlier = (now: Snapshot, earlier: Profile): readonly string[] =>
  nameClashes(namedWith(now, { profiles: [earlier], aliases: [], upstreams: [] }));
