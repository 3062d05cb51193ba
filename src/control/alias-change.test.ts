import { describe, expect, test } from "vitest";
import { snapshot, stored } from "../../test/fakes/snapshots.ts";
import { profile } from "../../test/fakes/values.ts";
import type { Alias } from "../core/alias.ts";
import { millis, profileName } from "../core/ids.ts";
import type { Upstream } from "../core/upstream.ts";
import { aliasProblems, deleteAlias, putAliases } from "./alias-change.ts";
import { aliasesTo, type NamedObjects, namedWith } from "./named-objects.ts";

const now = millis(5_000);
const alias = (name: string, targets: readonly string[], fallback: readonly string[] = []): Alias => ({
  name,
  targets: targets.map((target) => ({ profile: profileName(target), weight: 1 })),
  fallback: fallback.map(profileName),
});
const kept = (...aliases: readonly Alias[]) => aliases.map((one) => ({ alias: one, createdAt: now, updatedAt: now }));

describe("what aliases and profiles say of each other", () => {
  const before = snapshot({
    profiles: [stored(profile("big")), stored(profile("small"))],
    aliases: kept(alias("chat", ["big"])),
  });

  const tuned = profile("tuned", { adapters: { salty: "hf:a/salty" } });
  const cloud: Upstream = { name: "cloud", url: "https://x", models: [{ name: "gpt", remote: "gpt" }] };
  const many: Upstream = { ...cloud, name: "many", models: ["a/b", "c"].map((one) => ({ name: one, remote: one })) };

  test.each<[string, Partial<NamedObjects>, readonly string[]]>([
    [
      "upstreams, by their names and by one of their models",
      { upstreams: [cloud, many], aliases: [alias("fast", ["cloud", "many/a/b"], ["big", "many/c", "cloud/gpt"])] },
      [],
    ],
    ["an adapter of a profile", { profiles: [tuned], aliases: [alias("fast", ["tuned/salty"], ["tuned"])] }, []],
    [
      "an adapter that the profile has not",
      { profiles: [tuned], aliases: [alias("fast", ["tuned/saltY"])] },
      ['fast: the profile tuned has no adapter "saltY" for the alias to lead to. Did you mean "salty"?'],
    ],
    [
      "a name that an adapter has",
      { profiles: [tuned], aliases: [alias("salty", ["big"])] },
      ["salty: the model name salty of the alias is served by the profile tuned too"],
    ],
    [
      "an upstream of which it is not said which model",
      { upstreams: [many], aliases: [alias("fast", ["many"])] },
      ["fast: the upstream many has several models: say which, as many/a/b"],
    ],
    [
      "a model that the upstream has not, and an upstream that is not there",
      { upstreams: [many], aliases: [alias("fast", ["many/d"], ["mny/c"])] },
      [
        'fast: the upstream many has no model "d" for the alias to lead to. Did you mean "c"?',
        'fast: there is no upstream "mny" for the alias to lead to. Did you mean "many"?',
      ],
    ],
    [
      "a name that is a profile's and an upstream's",
      { upstreams: [{ ...cloud, name: "big" }], aliases: [alias("fast", ["big/gpt"])] },
      ["chat: big is a profile and an upstream: write big/MODEL for the upstream, or give one another name"],
    ],
    [
      "a name that an upstream serves",
      { upstreams: [cloud], aliases: [alias("gpt", ["big"])] },
      ["gpt: the model name gpt of the alias is served by the upstream cloud too"],
    ],
    ["an alias of what is there", { profiles: [], aliases: [alias("fast", ["small"], ["big"])] }, []],
    ["an alias of a profile that comes with it", { profiles: [profile("new")], aliases: [alias("n", ["new"])] }, []],
    [
      "a profile that is not there",
      { profiles: [], aliases: [alias("fast", ["smal", "big"], ["smal"])] },
      ['fast: there is no profile "smal" for the alias to lead to, and no upstream. Did you mean "small"?'],
    ],
    [
      "an alias of an alias",
      { profiles: [], aliases: [alias("fast", ["chat"])] },
      ["fast: chat is an alias itself, and an alias leads to profiles and upstreams only"],
    ],
    [
      "aliases that lead to each other",
      { profiles: [], aliases: [alias("a", ["b"]), alias("b", ["a"])] },
      [
        "a: b is an alias itself, and an alias leads to profiles and upstreams only",
        "b: a is an alias itself, and an alias leads to profiles and upstreams only",
      ],
    ],
    [
      "a name that a profile has",
      { profiles: [], aliases: [alias("small", ["big"])] },
      ["small: the model name small of the alias is served by the profile small too"],
    ],
    [
      "a profile that takes an alias' name",
      { profiles: [profile("third", { serves: ["third", "chat"] })], aliases: [] },
      ["chat: the model name chat of the alias is served by the profile third too"],
    ],
  ])("%s", (_, wanted, problems) => {
    const all = namedWith(before, { profiles: [], aliases: [], upstreams: [], ...wanted });
    expect(aliasProblems(all)).toEqual(problems);
  });
});

test("an alias is created, left as it is, changed and deleted", () => {
  const first = putAliases(snapshot(), [alias("b", ["m"]), alias("a", ["m"])], now);
  expect(first.answer.map(({ outcome }) => outcome)).toEqual(["created", "created"]);
  expect(first.snapshot.aliases.map((one) => one.alias.name)).toEqual(["a", "b"]);

  const again = putAliases(first.snapshot, [alias("a", ["m"])], millis(9_000));
  expect(again).toMatchObject({ answer: [{ outcome: "unchanged" }], events: [] });
  expect(again.snapshot).toBe(first.snapshot);

  const changed = putAliases(first.snapshot, [alias("a", ["m", "n"])], millis(9_000));
  expect(changed.answer).toEqual([{ name: "a", outcome: "changed" }]);
  expect(changed.snapshot.aliases[0]).toMatchObject({ createdAt: now, updatedAt: 9_000 });
  expect(changed.events).toMatchObject([{ reason: "AliasChanged", subject: "a" }]);
  expect(aliasesTo(changed.snapshot, "profile", "n")).toEqual(["a"]);

  expect(deleteAlias(changed.snapshot, "c")).toEqual({ ok: false, error: ["a", "b"] });
  const gone = deleteAlias(changed.snapshot, "a");
  expect(gone.ok ? aliasesTo(gone.value.snapshot, "profile", "m") : undefined).toEqual(["b"]);
});
