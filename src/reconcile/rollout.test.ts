import { describe, expect, test } from "vitest";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica, ReplicaState } from "../core/replica-state.ts";
import { type RolloutView, rolloutStep } from "./rollout.ts";

const old = profile("p");
const changed = (count: number, surge = 1, unavailable = 0): Profile =>
  profile("p", {
    args: ["--new"],
    replicas: { kind: "fixed", count },
    rollout: { surge, unavailable, drain: millis(1000) },
  });
const noRoom: ReplicaState = {
  kind: "pending",
  rejections: [{ node: replica("x", old, ready).placement?.node ?? ("" as never), filter: "memory", reason: "full" }],
};
const starting: ReplicaState = { kind: "starting", note: "" };
const stopping: ReplicaState = { kind: "stopping", why: "" };
const [o1, o2, o3] = ["o1", "o2", "o3"].map((id) => replica(id, old, ready)) as [Replica, Replica, Replica];
const of = (spec: Profile, id: string, state: ReplicaState, more: Partial<Replica> = {}): Replica =>
  replica(id, spec, state, more);

interface Want {
  readonly create: number;
  readonly drain: readonly string[];
  readonly swap: string | undefined;
}
type View = Partial<RolloutView> & Pick<RolloutView, "profile" | "replicas">;

const step = (view: View): Want => {
  const { create, drain, swap } = rolloutStep({ outgoing: () => undefined, makesRoom: new Set(), ...view });
  return { create, drain: drain.map(({ replica: { id } }) => id), swap: swap?.replica.id };
};

describe("a step of a rollout", () => {
  const n = changed(2);
  test.each<{ name: string; view: View; want: Want }>([
    {
      name: "one more than asked for is made first",
      view: { profile: n, replicas: [o1, o2] },
      want: { create: 1, drain: [], swap: undefined },
    },
    {
      name: "surge says how many at once",
      view: { profile: changed(2, 2), replicas: [o1, o2] },
      want: { create: 2, drain: [], swap: undefined },
    },
    {
      name: "no old one goes before a new one is ready",
      view: { profile: n, replicas: [o1, o2, of(n, "n1", starting)] },
      want: { create: 0, drain: [], swap: undefined },
    },
    {
      name: "a new one is ready: one old one goes, and the next is made when it has",
      view: { profile: n, replicas: [o1, o2, of(n, "n1", ready)] },
      want: { create: 0, drain: ["o2"], swap: undefined },
    },
    {
      name: "unavailable without surge: one goes first",
      view: { profile: changed(2, 0, 1), replicas: [o1, o2] },
      want: { create: 0, drain: ["o2"], swap: undefined },
    },
    {
      name: "no room and nothing that would make any: it waits",
      view: { profile: n, replicas: [o1, o2, of(n, "n1", noRoom)] },
      want: { create: 0, drain: [], swap: undefined },
    },
    {
      name: "no room, but an old one would make some: it is swapped",
      view: { profile: n, replicas: [o1, o2, of(n, "n1", noRoom)], makesRoom: new Set([o1.id]) },
      want: { create: 0, drain: ["o1"], swap: "o1" },
    },
    {
      name: "one swap at a time",
      view: {
        profile: n,
        replicas: [o1, o2, replica("o0", old, stopping), of(n, "n1", noRoom)],
        makesRoom: new Set([o1.id]),
      },
      want: { create: 0, drain: [], swap: undefined },
    },
    {
      name: "no swap below what is promised",
      view: { profile: n, replicas: [o1, of(n, "n1", noRoom)], makesRoom: new Set([o1.id]) },
      want: { create: 1, drain: [], swap: undefined },
    },
    {
      name: "the only one is swapped, too: else it could never change",
      view: { profile: changed(1), replicas: [o1, of(changed(1), "n1", noRoom)], makesRoom: new Set([o1.id]) },
      want: { create: 0, drain: ["o1"], swap: "o1" },
    },
    {
      name: "an operator's restart goes one after another",
      view: {
        profile: { ...old, replicas: { kind: "fixed", count: 2 } },
        replicas: [o1, o2],
        outgoing: () => ({ why: "restart", isForced: false }),
      },
      want: { create: 1, drain: [], swap: undefined },
    },
    {
      name: "what is forced goes at once",
      view: {
        profile: { ...old, replicas: { kind: "fixed", count: 3 } },
        replicas: [o1, o2, o3],
        outgoing: ({ id }) => (id === "o2" ? { why: "late", isForced: true } : undefined),
      },
      want: { create: 1, drain: ["o2"], swap: undefined },
    },
  ])("$name", ({ view, want }) => {
    expect(step(view)).toEqual(want);
  });
});
