import { expect, test } from "vitest";
import { snapshot, stored } from "../../test/fakes/snapshots.ts";
import { profile, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import type { ReplicaState } from "../core/replica-state.ts";
import { afterAbsence } from "./after-absence.ts";

const smol = profile("smol");
const endpoint = { host: "10.0.0.1", port: 41_000 };
const draining = (deadline: number): ReplicaState => {
  return { kind: "draining", endpoint, slots: 4, deadline: millis(deadline), why: "changed" };
};

test.each([
  { name: "passed", deadline: 61_000, now: 500_000, known: true, want: 500_000 + smol.rollout.drain },
  { name: "is near", deadline: 61_000, now: 60_900, known: true, want: 60_900 + smol.rollout.drain },
  { name: "is of a deleted profile", deadline: 61_000, now: 500_000, known: false, want: 560_000 },
  { name: "is later still", deadline: 9_000_000, now: 2_000, known: true, want: 9_000_000 },
])("a drain whose deadline $name", ({ deadline, now, known, want }) => {
  const before = snapshot({
    profiles: known ? [stored(smol)] : [],
    replicas: [replica("a", smol, draining(deadline), { since: millis(1_000) })],
  });
  const [after] = afterAbsence(before, millis(now)).replicas;
  expect(after).toMatchObject({ since: 1_000, state: { kind: "draining", deadline: want } });
});

test("what serves is left as it is", () => {
  const before = snapshot({ replicas: [replica("a", smol, { kind: "ready", endpoint, slots: 4, engine: "b1" })] });
  expect(afterAbsence(before, millis(5)).replicas[0]).toBe(before.replicas[0]);
});
