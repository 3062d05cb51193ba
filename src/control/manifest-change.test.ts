import { expect, test } from "vitest";
import { snapshot, stored } from "../../test/fakes/snapshots.ts";
import { profile } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import { applyProfiles, deleteProfile } from "./manifest-change.ts";

const now = millis(5);
const a = profile("a");
const b = profile("b", { serves: ["b", "shared"] });

test("created, changed and unchanged are told apart; when it was made stays", () => {
  const before = snapshot({ profiles: [stored(a), stored(b)] });
  const changed = profile("b", { serves: ["b"], context: 1 });
  const applied = applyProfiles(before, [a, changed, profile("c")], now);
  if (!applied.ok) throw new Error(applied.error.join());
  expect(applied.value.answer.map(({ outcome }) => outcome)).toEqual(["unchanged", "changed", "created"]);
  expect(applied.value.snapshot.profiles).toMatchObject([
    { createdAt: 100_000, updatedAt: 100_000 },
    { createdAt: 100_000, updatedAt: 5 },
    { createdAt: 5, updatedAt: 5 },
  ]);
  expect(applied.value.events.map(({ reason }) => reason)).toEqual(["ProfileChanged", "ProfileCreated"]);
});

test("nothing new: the same snapshot", () => {
  const before = snapshot({ profiles: [stored(a)] });
  const applied = applyProfiles(before, [a], now);
  expect(applied.ok && applied.value.snapshot).toBe(before);
});

test("every clash with what is there is named, and nothing is applied", () => {
  const before = snapshot({ profiles: [stored(a), stored(b)] });
  expect(applyProfiles(before, [profile("c", { serves: ["a", "shared"] }), profile("d")], now)).toEqual({
    ok: false,
    error: [
      "c: the model name a is already served by the profile a",
      "c: the model name shared is already served by the profile b",
    ],
  });
});

test("an adapter's name is taken as a model's is", () => {
  const before = snapshot({ profiles: [stored(profile("a", { adapters: { salty: "hf:a/salty" } }))] });
  const wanted = [profile("salty"), profile("c", { adapters: { a: "hf:a/x", salty: "hf:a/y" } })];
  expect(applyProfiles(before, wanted, now)).toEqual({
    ok: false,
    error: [
      "salty: the model name salty is already served by the profile a",
      "c: the model name a is already served by the profile a",
      "c: the model name salty is already served by the profile a",
    ],
  });
});

test("a name may move from one profile to another in one manifest", () => {
  const before = snapshot({ profiles: [stored(b)] });
  const moved = [profile("b", { serves: ["b"] }), profile("c", { serves: ["shared"] })];
  expect(applyProfiles(before, moved, now).ok).toBe(true);
});

test("only what is there can be deleted; else its neighbours are named", () => {
  const before = snapshot({ profiles: [stored(a), stored(b)] });
  expect(deleteProfile(before, "x")).toEqual({ ok: false, error: ["a", "b"] });
  const deleted = deleteProfile(before, "a");
  expect(deleted.ok && deleted.value.snapshot.profiles).toHaveLength(1);
});
