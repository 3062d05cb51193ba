import { expect, test } from "vitest";
import { snapshot, stored } from "../../test/fakes/snapshots.ts";
import { profile } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import type { Revision } from "../core/revision.ts";
import type { Snapshot } from "../store/store.ts";
import { endedRollouts } from "./rollout-count.ts";

const m = profile("m");
const revision = (number: number, outcome: Revision["outcome"]): Revision => ({
  ...{ number, outcome, profile: m, manifest: "{}", at: millis(0), origin: "apply", why: "" },
});
const having = (...revisions: readonly Revision[]): Snapshot =>
  snapshot({ profiles: revisions.length === 0 ? [] : [{ ...stored(m), revisions }] });

test.each([
  ["a first form that is ready", having(revision(1, "underway")), having(revision(1, "ready")), ["ready"]],
  ["one that began", having(), having(revision(1, "underway")), []],
  [
    "one that was taken back, and its return",
    having(revision(1, "ready"), revision(2, "underway")),
    having(revision(1, "ready"), revision(2, "failed"), revision(3, "underway")),
    ["failed"],
  ],
  [
    "one that another came before, in one step",
    having(revision(1, "underway")),
    having(revision(1, "replaced"), revision(2, "ready")),
    ["replaced", "ready"],
  ],
  ["nothing new", having(revision(4, "ready")), having(revision(4, "ready")), []],
  ["old ones that are forgotten", having(revision(4, "ready"), revision(5, "ready")), having(revision(5, "ready")), []],
  ["a profile that is gone", having(revision(1, "ready")), having(), []],
])("rollouts that ended: %s", (_, before, after, outcomes) => {
  expect(endedRollouts(before, after)).toEqual(outcomes);
});
