import { expect, test } from "vitest";
import { snapshot, stored } from "../../test/fakes/snapshots.ts";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import type { Snapshot } from "../store/store.ts";
import { applyProfiles } from "./manifest-change.ts";
import { restartReplicas, scaleProfile, undoRollout } from "./replica-change.ts";

const now = millis(1_000_000);
const form = (arg: string): Profile => profile("p", { args: [arg] });
const before = snapshot({
  profiles: [stored(form("a"))],
  replicas: [
    replica("p-1", form("a"), ready),
    replica("p-2", form("a"), { kind: "pending", rejections: [] }),
    replica("p-3", form("a"), { kind: "stopping", why: "" }),
  ],
});

function applied(on: Snapshot, wanted: Profile): Snapshot {
  const result = applyProfiles(on, [wanted], now);
  if (!result.ok) throw new Error(result.error.join());
  return result.value.snapshot;
}

test("scaling alters the count, and tells both", () => {
  const scaled = scaleProfile(before, "p", { count: 3, now });
  expect(scaled).toMatchObject({
    value: {
      answer: 1,
      snapshot: { profiles: [{ profile: { replicas: { count: 3 }, args: ["a"] }, revisions: [{ number: 1 }] }] },
      events: [{ reason: "ProfileScaled", message: "p is to have 3 replicas; it had 1" }],
    },
  });
  expect(scaleProfile(before, "p", { count: 1, now })).toMatchObject({ value: { events: [] } });
});

test.each([
  { name: "p", want: ["p-1"] },
  { name: "p-1", want: ["p-1"] },
  { name: "p-3", want: [] },
])("a restart of $name marks what runs", ({ name, want }) => {
  const result = restartReplicas(before, name);
  if (!result.ok) throw new Error("refused");
  expect(result.value.answer).toEqual({ profile: "p", replicas: want });
  const marked = result.value.snapshot.replicas.filter(({ replace }) => replace !== undefined);
  expect(marked.map(({ id }) => id)).toEqual(want);
});

test("an unknown name is answered with those that there are", () => {
  expect(restartReplicas(before, "q")).toMatchObject({ error: { kind: "unknown", known: ["p", "p-1", "p-2", "p-3"] } });
  expect(scaleProfile(before, "q", { count: 1, now })).toMatchObject({ error: { kind: "unknown", known: ["p"] } });
});

test("undo goes back and forth between the last two forms, and to any that is remembered", () => {
  const second = applied(before, form("b"));
  const back = undoRollout(second, "p", { revision: undefined, now });
  if (!back.ok) throw new Error("refused");
  expect(back.value).toMatchObject({
    answer: 1,
    events: [{ reason: "RolloutUndone", message: "p: an operator went back to revision 1" }],
  });
  expect(back.value.snapshot.profiles[0]?.profile).toEqual(form("a"));
  expect(undoRollout(back.value.snapshot, "p", { revision: undefined, now })).toMatchObject({ value: { answer: 2 } });
  expect(undoRollout(second, "p", { revision: 1, now })).toMatchObject({ value: { answer: 1 } });
});

test("undo says why it cannot", () => {
  const none = { error: { kind: "refused", why: "p has no earlier revision to go back to" } };
  expect(undoRollout(before, "p", { revision: undefined, now })).toMatchObject(none);
  const gone = { error: { why: "p has no revision 7 any more; there are 1" } };
  expect(undoRollout(before, "p", { revision: 7, now })).toMatchObject(gone);
});

test("undo does not take back a name that an upstream has got since", () => {
  const named = { ...form("a"), serves: ["p", "big"] };
  const moved = applied(snapshot({ profiles: [stored(named)] }), form("b"));
  const upstream = { name: "cloud", url: "https://x", models: [{ name: "big", remote: "big" }] };
  const since: Snapshot = { ...moved, upstreams: [{ upstream, createdAt: now, updatedAt: now }] };
  expect(undoRollout(moved, "p", { revision: undefined, now })).toMatchObject({ ok: true });
  expect(undoRollout(since, "p", { revision: undefined, now })).toMatchObject({
    error: { kind: "refused", why: "cloud: the model name big of the upstream is served by the profile p too" },
  });
});
