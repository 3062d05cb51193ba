import type { Alias } from "../core/alias.ts";
import type { NewEvent } from "../core/event.ts";
import { canonicalJson } from "../core/fingerprint.ts";
import type { Millis } from "../core/ids.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Snapshot } from "../store/store.ts";
import type { AppliedProfile, Change } from "./manifest-change.ts";
import { modelOfEntry, type NamedObjects, serversOf } from "./named-objects.ts";

interface AppliedAlias {
  readonly name: string;
  readonly outcome: AppliedProfile["outcome"];
}

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
