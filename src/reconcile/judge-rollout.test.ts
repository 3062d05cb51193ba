import { expect, test } from "vitest";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { millis, nodeId } from "../core/ids.ts";
import type { Replica, ReplicaState } from "../core/replica-state.ts";
import { judgeRollout } from "./judge-rollout.ts";

const spec = profile("p", { replicas: { kind: "fixed", count: 2 }, startTimeout: millis(60_000) });
const other = profile("p", { args: ["--old"] });
const is = (id: string, state: ReplicaState, since = 0): Replica => replica(id, spec, state, { since: millis(since) });
const starting: ReplicaState = { kind: "starting", note: "" };
const preparing: ReplicaState = { kind: "preparing", progress: undefined };
const failed: ReplicaState = { kind: "failed", reason: "it said no to key-of-b", lastLines: [] };
const full: ReplicaState = {
  kind: "pending",
  rejections: [{ node: nodeId("n1"), filter: "memory", reason: "has no room" }],
};

test.each<{ name: string; replicas: readonly Replica[]; now: number; want: object }>([
  { name: "all ready", replicas: [is("a", ready), is("b", ready)], now: 0, want: { kind: "complete" } },
  { name: "one is missing", replicas: [is("a", ready)], now: 0, want: { kind: "underway" } },
  {
    name: "an old one is left",
    replicas: [is("a", ready), is("b", ready), replica("o", other, ready)],
    now: 0,
    want: { kind: "underway" },
  },
  {
    name: "one failed",
    replicas: [is("a", ready), is("b", failed)],
    now: 0,
    want: { kind: "broken", why: "b failed: it said no to [its key]" },
  },
  { name: "an old one failed", replicas: [replica("o", other, failed)], now: 0, want: { kind: "underway" } },
  { name: "in time", replicas: [is("a", starting, 1000)], now: 60_999, want: { kind: "underway" } },
  {
    name: "too late",
    replicas: [is("a", starting, 1000)],
    now: 61_000,
    want: { kind: "broken", why: "a has been starting for 1m" },
  },
  { name: "fetching takes what it takes", replicas: [is("a", preparing)], now: 10_000_000, want: { kind: "underway" } },
  {
    name: "no place for it",
    replicas: [is("a", full)],
    now: 60_000,
    want: { kind: "broken", why: "a has been pending for 1m (n1: has no room)" },
  },
])("$name", ({ replicas, now, want }) => {
  expect(judgeRollout(spec, replicas, millis(now))).toEqual(want);
});
