import { describe, expect, test } from "vitest";
import { ended, follow, gangReplica, node, now, ready, running, runs, said, summary } from "../../test/fakes/gangs.ts";
import { millis } from "../core/ids.ts";
import type { Replica } from "../core/replica-state.ts";
import type { NodeReport } from "./follow.ts";

describe("nodes that are silent", () => {
  const serves = gangReplica(ready, running);
  const silent = { liveness: "unreachable" as const };
  test("B48 unreachable: nothing changes, and with its word it is as it was", () => {
    for (const [a, b] of [
      [node(serves, 0, runs(0), silent), node(serves, 1, runs(1))],
      [node(serves, 0, runs(0)), node(serves, 1, runs(1), silent)],
    ] as const) {
      const followed = follow(serves, a, b);
      expect(summary(followed)).toBe("ready 1 run");
      expect(followed.replica.gang?.ranks.map(({ state }) => state)).toContain("unreachable");
      const back = said(followed.replica, runs(0), runs(1)).replica;
      expect(back.gang?.ranks.map(({ state }) => state)).toEqual(["running", "running"]);
    }
  });

  test.each<{ name: string; a: Partial<NodeReport> | undefined; b: Partial<NodeReport> | undefined; want: string }>([
    {
      name: "one is lost: the others are stopped",
      a: {},
      b: { liveness: "lost" },
      want: "stopping: its node b is lost",
    },
    {
      name: "the head is lost: the others are stopped",
      a: { liveness: "lost" },
      b: {},
      want: "stopping: its node a is lost",
    },
    {
      name: "both are lost",
      a: { liveness: "lost" },
      b: { liveness: "lost" },
      want: "lost: its nodes a and b are lost",
    },
    { name: "one was removed", a: {}, b: undefined, want: "stopping: its node b was removed" },
    { name: "both were removed", a: undefined, b: undefined, want: "stopped: " },
  ])("$name", ({ a, b, want }) => {
    const reports = [a, b].map((more, rank) => (more === undefined ? undefined : node(serves, rank, runs(rank), more)));
    const { state } = follow(serves, reports[0], reports[1]).replica;
    const why = "why" in state ? state.why : state.kind === "lost" ? state.reason : "";
    expect(`${state.kind}: ${why}`).toBe(want);
  });

  const stopping = gangReplica({ kind: "stopping", why: "its node b is lost" }, running);
  test.each<{ name: string; of: Replica; a: NodeReport; b: NodeReport; want: string }>([
    {
      name: "the living rank is still there",
      of: stopping,
      a: node(stopping, 0, runs(0, { kind: "stopping" })),
      b: node(stopping, 1, runs(1), { liveness: "lost" }),
      want: "stopping",
    },
    {
      name: "the living rank is gone",
      of: stopping,
      a: node(stopping, 0, undefined),
      b: node(stopping, 1, runs(1), { liveness: "lost" }),
      want: "stopped",
    },
    {
      name: "B50 the lost node is back with its rank, which is told to stop",
      of: stopping,
      a: node(stopping, 0, undefined),
      b: node(stopping, 1, runs(1)),
      want: "stopping",
    },
    {
      name: "B50 all were lost, and one is back",
      of: gangReplica({ kind: "lost", reason: "its nodes a and b are lost" }, running),
      a: node(stopping, 0, runs(0)),
      b: node(stopping, 1, runs(1), { liveness: "lost" }),
      want: "stopping",
    },
  ])("$name", ({ of, a, b, want }) => {
    expect(follow(of, a, b).replica.state.kind).toBe(want);
  });

  const draining = gangReplica(
    { kind: "draining", endpoint: undefined, slots: 1, deadline: millis(now + 1), why: "w" },
    running,
  );
  test("while it drains, the end of any rank ends it", () => {
    expect(summary(said(draining, runs(0), runs(1)))).toBe("draining 1 run");
    expect(summary(said(draining, runs(0), ended(1, "x", now)))).toBe("stopping 1 run");
  });

  test.each<{ name: string; a: NodeReport; b: NodeReport | undefined; want: string }>([
    {
      name: "is lost: the rest goes on with what routers have there",
      a: node(draining, 0, runs(0)),
      b: node(draining, 1, runs(1), { liveness: "lost" }),
      want: "draining",
    },
    {
      name: "was removed: there is nothing left to finish",
      a: node(draining, 0, runs(0)),
      b: undefined,
      want: "stopping",
    },
  ])("while it drains, a node $name", ({ a, b, want }) => {
    expect(follow(draining, a, b).replica.state.kind).toBe(want);
  });
});
