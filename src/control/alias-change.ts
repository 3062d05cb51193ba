import type { Alias, StoredAlias } from "../core/alias.ts";
import type { Millis } from "../core/ids.ts";
import { ok, type Result } from "../core/result.ts";
import type { Snapshot } from "../store/store.ts";
import type { Change } from "./manifest-change.ts";
import { modelOfEntry, type NamedObjects, serversOf } from "./named-objects.ts";
import { type AppliedNamed, dropNamed, type NamedKind, putNamed } from "./put-named.ts";

/**
 * Why aliases do not go together with profiles and upstreams. Everything that would be there is looked at: a profile can take
 * an alias' name as well as the other way round. An alias leads to no other alias, so there are no circles.
 */
export const aliasProblems = (all: NamedObjects): readonly string[] =>
  all.aliases.flatMap((alias) => [...takenBy(alias, all), ...leadsNowhere(alias, all)]);

const takenBy = ({ name }: Alias, all: NamedObjects): readonly string[] =>
  serversOf(name, all).map((other) => `${name}: the model name ${name} of the alias is served by ${other} too`);

function leadsNowhere({ name, targets, fallback }: Alias, all: NamedObjects): readonly string[] {
  const entries = new Set<string>([...targets.map(({ profile }) => profile), ...fallback]);
  return [...entries].flatMap((entry) => {
    const model = modelOfEntry(entry, all);
    return model.ok ? [] : [`${name}: ${model.error}`];
  });
}

const ALIASES: NamedKind<Alias, StoredAlias> = {
  subjectKind: "alias",
  reasons: { created: "AliasCreated", changed: "AliasChanged", deleted: "AliasDeleted" },
  objectOf: ({ alias }) => alias,
  toStored: (alias, times) => ({ alias, ...times }),
};

/** Remembers aliases of which {@link aliasProblems} had nothing to say. */
export function putAliases(before: Snapshot, aliases: readonly Alias[], now: Millis): Change<readonly AppliedNamed[]> {
  const { stored, events, answer } = putNamed(ALIASES, before.aliases, { wanted: aliases, now });
  return { snapshot: stored === before.aliases ? before : { ...before, aliases: stored }, events, answer };
}

/** The error is the names of those that there are. */
export function deleteAlias(before: Snapshot, name: string): Result<Change<undefined>, readonly string[]> {
  const dropped = dropNamed(ALIASES, before.aliases, name);
  if (!dropped.ok) return dropped;
  const { stored, events } = dropped.value;
  return ok({ snapshot: { ...before, aliases: stored }, events, answer: undefined });
}
