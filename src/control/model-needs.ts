import type { Profile } from "../core/profile.ts";
import { knownModel, needsAt } from "../engines/known-model.ts";
import type { KnownModel } from "../engines/weights/needs.ts";
import type { NeedsAt } from "../scheduler/ask.ts";
import type { Snapshot } from "../store/store.ts";

/** What profiles' replicas take, by what is known of their models. Each model is looked up once, however many ask. */
export function needsOf({ nodes }: Pick<Snapshot, "nodes">): (profile: Profile) => NeedsAt {
  const known = new Map<string, KnownModel>();
  return (profile) => {
    const { source } = profile.model;
    const model = known.get(source) ?? knownModel(source, nodes, undefined);
    known.set(source, model);
    return needsAt(profile, model);
  };
}
