import { namesOf } from "../core/adapter.ts";
import type { Alias } from "../core/alias.ts";
import { didYouMean } from "../core/nearest.ts";
import type { Profile } from "../core/profile.ts";
import { err, ok, type Result } from "../core/result.ts";
import type { Upstream } from "../core/upstream.ts";
import type { Snapshot } from "../store/store.ts";

/** Everything that model names lead to. */
export interface NamedObjects {
  readonly profiles: readonly Profile[];
  readonly aliases: readonly Alias[];
  readonly upstreams: readonly Upstream[];
}

type Remembered = Pick<Snapshot, "profiles" | "aliases" | "upstreams">;

export const namedIn = ({ profiles, aliases, upstreams }: Remembered): NamedObjects => ({
  profiles: profiles.map(({ profile }) => profile),
  aliases: aliases.map(({ alias }) => alias),
  upstreams: upstreams.map(({ upstream }) => upstream),
});

/** What there would be, were all of these applied. */
export function namedWith(before: Remembered, wanted: NamedObjects): NamedObjects {
  const was = namedIn(before);
  return {
    profiles: merged(was.profiles, wanted.profiles),
    aliases: merged(was.aliases, wanted.aliases),
    upstreams: merged(was.upstreams, wanted.upstreams),
  };
}

function merged<T extends { readonly name: string }>(before: readonly T[], wanted: readonly T[]): readonly T[] {
  const byName = new Map(before.map((one) => [one.name, one]));
  for (const one of wanted) byName.set(one.name, one);
  return [...byName.values()];
}

/** Who serves a model name, as a sentence would call them. An alias' own name serves nothing itself. */
export const serversOf = (name: string, { profiles, upstreams }: Omit<NamedObjects, "aliases">): readonly string[] => [
  ...profiles.filter((profile) => namesOf(profile).includes(name)).map((profile) => `the profile ${profile.name}`),
  ...upstreams
    .filter(({ models }) => models.some((model) => model.name === name))
    .map((upstream) => `the upstream ${upstream.name}`),
];

/**
 * The model name that an entry of an alias leads to: a profile's first, an upstream's only one, or that of PROFILE/ADAPTER or
 * UPSTREAM/MODEL. The error is a sentence about the entry.
 */
export function modelOfEntry(entry: string, all: NamedObjects): Result<string, string> {
  const { profiles, upstreams } = all;
  const profile = profiles.find((one) => one.name === entry);
  const [name = "", ...rest] = entry.split("/");
  const upstream = upstreams.find((one) => one.name === name);
  if (profile !== undefined && upstream !== undefined) {
    return err(
      `${entry} is a profile and an upstream: write ${entry}/MODEL for the upstream, or give one another name`,
    );
  }
  if (profile !== undefined) return ok(firstNameOf(profile));
  const asked = rest.join("/");
  const owner = asked === "" ? undefined : profiles.find((one) => one.name === name);
  if (owner !== undefined && Object.hasOwn(owner.adapters, asked)) return ok(asked);
  if (upstream !== undefined) return modelOfUpstream(upstream, asked);
  return err(owner === undefined ? leadsNowhere(entry, all) : noAdapter(owner, asked));
}

const firstNameOf = ({ serves: [first], name }: Profile): string => first ?? name;

function leadsNowhere(entry: string, { profiles, upstreams, aliases }: NamedObjects): string {
  if (aliases.some((alias) => alias.name === entry)) {
    return `${entry} is an alias itself, and an alias leads to profiles and upstreams only`;
  }
  const [name = "", ...rest] = entry.split("/");
  const isProfile = rest.length === 0;
  const known = (isProfile ? [...profiles, ...upstreams] : upstreams).map((one) => one.name);
  const [what, more] = isProfile ? ["profile", ", and no upstream"] : ["upstream", ""];
  return `there is no ${what} "${name}" for the alias to lead to${more}.${didYouMean(name, known)}`;
}

function noAdapter({ name, adapters }: Profile, asked: string): string {
  return `the profile ${name} has no adapter "${asked}" for the alias to lead to.${didYouMean(asked, Object.keys(adapters))}`;
}

function modelOfUpstream({ name, models }: Upstream, asked: string): Result<string, string> {
  const names = models.map((model) => model.name);
  const [only, ...more] = names;
  if (asked === "" && only !== undefined && more.length === 0) return ok(only);
  if (asked === "") return err(`the upstream ${name} has several models: say which, as ${name}/${only ?? ""}`);
  return names.includes(asked)
    ? ok(asked)
    : err(`the upstream ${name} has no model "${asked}" for the alias to lead to.${didYouMean(asked, names)}`);
}

/** The aliases whose entries lead to the profile of that name, or to the upstream. */
export const aliasesTo = ({ aliases }: Pick<Snapshot, "aliases">, kind: "profile" | "upstream", name: string) =>
  aliases
    .map(({ alias }) => alias)
    .filter(({ targets, fallback }) => {
      const entries: readonly string[] = [...targets.map((target) => target.profile), ...fallback];
      return entries.some((entry) => entry === name || (kind === "upstream" && entry.startsWith(`${name}/`)));
    })
    .map((alias) => alias.name);
