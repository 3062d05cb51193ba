import type { Alias, StoredAlias } from "../core/alias.ts";
import type { NewEvent } from "../core/event.ts";
import { canonicalJson } from "../core/fingerprint.ts";
import type { Millis } from "../core/ids.ts";
import { didYouMean } from "../core/nearest.ts";
import type { Profile } from "../core/profile.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Snapshot } from "../store/store.ts";
import type { AppliedProfile, Change } from "./manifest-change.ts";

interface AppliedAlias {
  readonly name: string;
  readonly outcome: AppliedProfile["outcome"];
}

/**
 * Why aliases and profiles do not go together, were all of these applied. Everything that would be there is looked at: a
 * profile can take an alias' name as well as the other way round. An alias leads to profiles alone, so there are no circles.
 */
export function aliasProblems(
  before: Pick<Snapshot, "profiles" | "aliases">,
  { profiles, aliases }: { readonly profiles: readonly Profile[]; readonly aliases: readonly Alias[] },
): readonly string[] {
  const all = merged(before.aliases, aliases);
  const known = new Map(before.profiles.map(({ profile }) => [profile.name as string, profile]));
  for (const profile of profiles) known.set(profile.name, profile);
  return all.flatMap((alias) => [...takenBy(alias, known), ...leadsNowhere(alias, { known, all })]);
}

function merged(before: readonly StoredAlias[], wanted: readonly Alias[]): readonly Alias[] {
  const byName = new Map(before.map(({ alias }) => [alias.name, alias]));
  for (const alias of wanted) byName.set(alias.name, alias);
  return [...byName.values()];
}

const takenBy = ({ name }: Alias, known: ReadonlyMap<string, Profile>): readonly string[] =>
  [...known.values()]
    .filter(({ serves }) => serves.includes(name))
    .map((profile) => `${name}: the model name ${name} of the alias is served by the profile ${profile.name} too`);

function leadsNowhere(
  { name, targets, fallback }: Alias,
  { known, all }: { readonly known: ReadonlyMap<string, Profile>; readonly all: readonly Alias[] },
): readonly string[] {
  const missing = [...targets.map(({ profile }) => profile), ...fallback].filter((profile) => !known.has(profile));
  return [...new Set(missing)].map((profile) =>
    all.some((other) => other.name === profile)
      ? `${name}: ${profile} is an alias itself, and an alias leads to profiles only`
      : `${name}: there is no profile "${profile}" for the alias to lead to.${didYouMean(profile, known.keys())}`,
  );
}

/** Remembers aliases of which {@link aliasProblems} had nothing to say. */
export function putAliases(before: Snapshot, aliases: readonly Alias[], now: Millis): Change<readonly AppliedAlias[]> {
  const stored = new Map(before.aliases.map((one) => [one.alias.name, one]));
  const answer = aliases.map((alias): AppliedAlias => {
    const was = stored.get(alias.name);
    if (was !== undefined && canonicalJson(was.alias) === canonicalJson(alias)) {
      return { name: alias.name, outcome: "unchanged" };
    }
    stored.set(alias.name, { alias, createdAt: was?.createdAt ?? now, updatedAt: now });
    return { name: alias.name, outcome: was === undefined ? "created" : "changed" };
  });
  const events = answer.filter(({ outcome }) => outcome !== "unchanged").map(appliedEvent);
  if (events.length === 0) return { snapshot: before, events, answer };
  const sorted = [...stored.values()].toSorted((a, b) => (a.alias.name < b.alias.name ? -1 : 1));
  return { snapshot: { ...before, aliases: sorted }, events, answer };
}

const appliedEvent = ({ name, outcome }: AppliedAlias): NewEvent => ({
  level: "info",
  subjectKind: "alias",
  subject: name,
  reason: outcome === "created" ? "AliasCreated" : "AliasChanged",
  message: `alias ${name} was ${outcome}`,
});

/** The error is the names of those that there are. */
export function deleteAlias(before: Snapshot, name: string): Result<Change<undefined>, readonly string[]> {
  const aliases = before.aliases.filter(({ alias }) => alias.name !== name);
  if (aliases.length === before.aliases.length) return err(before.aliases.map(({ alias }) => alias.name));
  const event = { level: "info", subjectKind: "alias", subject: name, reason: "AliasDeleted" } as const;
  const events = [{ ...event, message: `alias ${name} was deleted` }];
  return ok({ snapshot: { ...before, aliases }, events, answer: undefined });
}

/** Those that would lead nowhere without the profile. */
export const aliasesOf = ({ aliases }: Pick<Snapshot, "aliases">, profile: string): readonly string[] =>
  aliases
    .filter(({ alias }) =>
      [...alias.targets.map((target) => target.profile), ...alias.fallback].some((of) => of === profile),
    )
    .map(({ alias }) => alias.name);
