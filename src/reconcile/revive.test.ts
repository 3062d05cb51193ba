import { describe, expect, test } from "vitest";
import {
  changed,
  draining,
  kinds,
  now,
  pending,
  plan,
  report,
  seen,
  seenReady,
  smol,
  starting,
  stopping,
  times,
} from "../../test/fakes/cluster-plan.ts";
import { ready, replica } from "../../test/fakes/values.ts";
import { millis, nodeId } from "../core/ids.ts";
import type { ObservedReplicaState } from "../core/observed.ts";
import type { ReplicaState } from "../core/replica-state.ts";
import type { ClusterView } from "./cluster.ts";
import type { NodeReport } from "./follow.ts";

describe("a lost node", () => {
  test("B137 its replicas are lost and made anew; what was leaving is lost too", () => {
    const replicas = [replica("a", smol, ready), replica("b", smol, stopping)];
    const after = plan({ profiles: [smol], replicas, n1: report([], { liveness: "lost" }) });
    expect(kinds(after)).toEqual(["a lost", "b lost", "create 1"]);
  });

  const lost = replica("a", smol, { kind: "lost", reason: "" });
  const back = report([seen(lost, seenReady)]);
  const moved = (state: ReplicaState, seenAs: ObservedReplicaState) => {
    const other = replica("b", smol, state, { on: "n2" });
    const nodes = (n1: NodeReport) =>
      new Map([
        [nodeId("n1"), n1],
        [nodeId("n2"), report([seen(other, seenAs)])],
      ]);
    return (n1: NodeReport, profiles = [smol]) => plan({ profiles, replicas: [lost, other], nodes: nodes(n1) });
  };
  const serving = moved(ready, seenReady);
  const under = moved(starting, { kind: "starting", note: "" });

  test("B50 it comes back after its replica moved: what is in flight on the copy is finished, then it is stopped", () => {
    const after = serving(back);
    expect(kinds(after)).toEqual(["a draining", "b ready"]);
    expect(after.replicas[0]?.state).toMatchObject({
      endpoint: { host: "10.0.0.1", port: 41_000 },
      deadline: now + smol.rollout.drain,
      why: "its node came back after another had taken its place",
    });
  });

  test.each<{ name: string; state: ObservedReplicaState }>([
    { name: "still fetches its weights", state: { kind: "preparing", progress: undefined } },
    { name: "has failed", state: { kind: "failed", reason: "no", lastLines: [] } },
  ])("B50 a copy that $name has nothing to finish: it is stopped by absence", ({ state }) => {
    expect(kinds(serving(report([seen(lost, state)])))).toEqual(["a lost", "b ready"]);
  });

  test("B50 a copy of which an agent that has just started does not know yet whether it serves: it may finish what it has", () => {
    const held = report([seen(lost, { kind: "starting", note: "whether it still runs is not known" })]);
    const after = serving(held);
    expect(kinds(after)).toEqual(["a draining", "b ready"]);
    expect(after.replicas[0]?.state).toMatchObject({ endpoint: undefined });
    expect(kinds(under(held))).toEqual(["a draining", "b starting"]);
  });

  test("B50 a copy that is not there any more is done with", () => {
    expect(kinds(serving(report([])))).toEqual(["a stopped", "b ready"]);
  });

  test("B50 a copy that its node has stopped is done with, although the node goes on saying so", () => {
    expect(kinds(serving(report([seen(lost, { kind: "stopped" })])))).toEqual(["a stopped", "b ready"]);
  });

  test("B50 its replica has moved, but does not serve yet: what serves goes on, and exactly one of the two stays", () => {
    expect(kinds(under(back))).toEqual(["a ready", "b stopping"]);
  });

  test("the profile was changed or deleted meanwhile: the copy finishes what it has", () => {
    expect(kinds(under(back, [changed]))).toEqual(["a draining", "b stopping", "create 1"]);
    expect(kinds(under(back, []))).toEqual(["a draining", "b stopping"]);
  });

  test("a node that was removed from the cluster takes its replicas with it, and others are made", () => {
    const view = { profiles: [smol], replicas: [replica("a", smol, ready), replica("b", smol, stopping)] };
    expect(kinds(plan(view))).toEqual(["a stopped", "b stopped", "create 1"]);
  });

  test("it comes back before anything took the place: the engine that has served all the time goes on", () => {
    const waiting = replica("b", smol, pending);
    expect(kinds(plan({ profiles: [smol], replicas: [lost, waiting], n1: back }))).toEqual(["a ready", "b removed"]);
    const held = report([seen(lost, { kind: "starting", note: "whether it still runs is not known" })]);
    expect(kinds(plan({ profiles: [smol], replicas: [lost, waiting], n1: held }))).toEqual(["a starting", "b removed"]);
  });
});

describe("one that drains is wanted again", () => {
  const leaving = replica("a", smol, draining);
  const young = replica("b", smol, starting, { on: "n2", createdAt: millis(5) });
  const nodes = (a: ObservedReplicaState, more: Partial<NodeReport> = {}) =>
    new Map([
      [nodeId("n1"), report([seen(leaving, a)], more)],
      [nodeId("n2"), report([seen(young, { kind: "starting", note: "" })])],
    ]);
  const taken = (view: Partial<ClusterView>) =>
    kinds(plan({ profiles: [times(1)], replicas: [leaving], nodes: nodes(seenReady), ...view }));

  test("it is taken back instead of another being started", () => {
    expect(taken({})).toEqual(["a ready"]);
  });

  test.each<{ name: string; view: Partial<ClusterView>; want: readonly string[] }>([
    { name: "it is still one too many", view: { profiles: [times(0)] }, want: ["a draining"] },
    {
      name: "another is on its way already",
      view: { replicas: [leaving, young] },
      want: ["a draining", "b starting"],
    },
    { name: "it is of another form", view: { profiles: [changed] }, want: ["a draining", "create 1"] },
    {
      name: "its node is being emptied",
      view: { emptying: new Map([[nodeId("n1"), millis(now + 1)]]) },
      want: ["a draining", "create 1"],
    },
    {
      name: "an operator wants another in its place",
      view: { replicas: [{ ...leaving, replace: "a restart" }] },
      want: ["a draining", "create 1"],
    },
    {
      name: "its engine has crashed",
      view: { nodes: nodes({ kind: "starting", note: "" }) },
      want: ["a draining", "create 1"],
    },
    {
      name: "its node is silent",
      view: { nodes: nodes(seenReady, { liveness: "unreachable" }) },
      want: ["a draining", "create 1"],
    },
  ])("but not when $name", ({ view, want }) => {
    expect(taken(view)).toEqual(want);
  });

  test("only as many as are missing", () => {
    const both = [leaving, replica("c", smol, draining)];
    const n1 = report(both.map((one) => seen(one, seenReady)));
    expect(kinds(plan({ profiles: [times(1)], replicas: both, n1 }))).toEqual(["a ready", "c draining"]);
  });
});
