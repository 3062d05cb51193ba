import fc from "fast-check";
import { expect, test } from "vitest";
import { snapshot, stored, storedSpec } from "../../test/fakes/snapshots.ts";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import { type Profile, specHash } from "../core/profile.ts";
import type { ReplicaState } from "../core/replica-state.ts";
import { KEPT_REVISIONS } from "../core/revision.ts";
import type { Snapshot } from "../store/store.ts";
import { applyProfiles } from "./manifest-change.ts";
import { settleRollouts } from "./settle-rollouts.ts";

const now = millis(1_000_000);
const at = { now, demands: new Map() };
const form = (arg: string): Profile => profile("p", { args: [arg] });
const failed: ReplicaState = { kind: "failed", reason: "it\nsaid no", lastLines: [] };

function applied(before: Snapshot, wanted: Profile): Snapshot {
  const result = applyProfiles(before, [wanted], now);
  if (!result.ok) throw new Error(result.error.join());
  return result.value.snapshot;
}

const withReplica = (before: Snapshot, of: Profile, state: ReplicaState): Snapshot => ({
  ...before,
  replicas: [replica("r", of, state)],
});

const outcomes = ({ profiles }: Snapshot): readonly string[] =>
  profiles.flatMap(({ revisions }) => revisions.map((one) => `${String(one.number)} ${one.origin} ${one.outcome}`));

const first = settleRollouts(withReplica(snapshot({ profiles: [stored(form("a"))] }), form("a"), ready), at).snapshot;

test("a first form that is ready is noted without a word", () => {
  expect(outcomes(first)).toEqual(["1 apply ready"]);
});

test("a form that fails is taken back to the last that was ready, with the reason", () => {
  const bad = withReplica(applied(first, form("b")), form("b"), failed);
  const { snapshot: after, events } = settleRollouts(bad, at);
  expect(outcomes(after)).toEqual(["1 apply ready", "2 apply failed", "3 rollback underway"]);
  expect(after.profiles[0]?.profile).toEqual(form("a"));
  expect(events).toMatchObject([
    {
      level: "error",
      reason: "RolledBack",
      message:
        "p: revision 2 does not become ready: r failed: it said no. Revision 1, which was ready, is applied again",
    },
  ]);
});

test("a form whose name an alias has got since is not taken back to", () => {
  const named = { ...form("a"), serves: ["p", "chat"] };
  const start = settleRollouts(withReplica(snapshot({ profiles: [stored(named)] }), named, ready), at).snapshot;
  const bad = withReplica(applied(start, form("b")), form("b"), failed);
  const alias = { name: "chat", targets: [{ profile: form("a").name, weight: 1 }], fallback: [] };
  const since: Snapshot = { ...bad, aliases: [{ alias, createdAt: now, updatedAt: now }] };
  const { snapshot: after, events } = settleRollouts(since, at);
  expect(after.profiles[0]?.profile).toEqual(form("b"));
  expect(events).toMatchObject([
    { reason: "RollbackRefused", message: expect.stringContaining("the model name chat of the alias") as string },
  ]);
});

test("a return that fails, too, is left as it is", () => {
  const back = settleRollouts(withReplica(applied(first, form("b")), form("b"), failed), at).snapshot;
  const again = withReplica(back, form("a"), failed);
  expect(settleRollouts(again, at)).toEqual({ snapshot: again, events: [] });
});

test("without any form that was ready there is nothing to return to", () => {
  const never = withReplica(applied(snapshot({ profiles: [stored(form("a"))] }), form("b")), form("b"), failed);
  expect(settleRollouts(never, at)).toEqual({ snapshot: never, events: [] });
  expect(outcomes(never)).toEqual(["1 apply replaced", "2 apply underway"]);
});

test("another count begins no revision", () => {
  const more = applied(first, { ...form("a"), replicas: { kind: "fixed", count: 3 } });
  expect(outcomes(more)).toEqual(["1 apply ready"]);
  expect(more.profiles[0]?.revisions[0]?.profile.replicas).toEqual({ kind: "fixed", count: 3 });
});

/** One turn, with the profile's only replica ready or failed. */
function turnOf(state: Snapshot, works: (of: Profile) => boolean): Snapshot {
  const present = state.profiles[0]?.profile ?? form("a");
  return settleRollouts(withReplica(state, present, works(present) ? ready : failed), at).snapshot;
}

function checkRevisions({ profiles }: Snapshot): void {
  const { revisions = [], profile: present } = profiles[0] ?? {};
  expect(revisions.length).toBeLessThanOrEqual(KEPT_REVISIONS);
  expect(revisions.map(({ number }) => number)).toEqual(
    revisions.map((_, index) => (revisions[0]?.number ?? 0) + index),
  );
  expect(revisions.at(-1)?.profile).toEqual(present);
}

test("whatever is applied and whatever fails: no more revisions than are kept, and returning comes to an end", () => {
  const steps = fc.array(fc.record({ arg: fc.constantFrom("a", "b", "c"), good: fc.boolean() }), { maxLength: 30 });
  fc.assert(
    fc.property(steps, (changes) => {
      let state = snapshot({ profiles: [stored(form("a"))], specs: [storedSpec(form("a"))] });
      for (const { arg, good } of changes) {
        state = applied(state, form(arg));
        const works = (of: Profile): boolean => good || specHash(of) !== specHash(form(arg));
        for (let turn = 0; turn < 3; turn++) state = turnOf(state, works);
        expect(outcomes(turnOf(state, works))).toEqual(outcomes(state));
        checkRevisions(state);
      }
    }),
  );
});

test.each<{ name: string; wanted: number; state: ReplicaState | undefined; want: string }>([
  { name: "none is there: nobody can tell", wanted: 0, state: undefined, want: "underway" },
  { name: "the first serves, and others that the load asks for are to come", wanted: 3, state: ready, want: "ready" },
  { name: "the first fails", wanted: 1, state: failed, want: "failed" },
])("a form whose replicas follow the load, when $name: $want", ({ wanted, state, want }) => {
  const range = { kind: "range", min: 0, max: 4, targetInFlight: 8, idle: millis(1_000) } as const;
  const scaled = profile("p", { args: ["b"], replicas: range });
  const before = applied(first, scaled);
  const seen = state === undefined ? { ...before, replicas: [] } : withReplica(before, scaled, state);
  const demand = { wanted, load: 0, isFirst: false, since: now, peaks: [] };
  const demands = new Map([[scaled.name, demand]]);
  const { snapshot: after } = settleRollouts(seen, { now, demands });
  expect(outcomes(after)[1]).toBe(`2 apply ${want}`);
});
