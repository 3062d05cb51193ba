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
import { millis, type ProfileName, type ReplicaId, replicaId } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import type { Replica, ReplicaState } from "../core/replica-state.ts";
import type { ClusterView } from "./cluster.ts";
import type { RouterReport } from "./drain.ts";
import type { NodeReport } from "./follow.ts";

const failed: ReplicaState = { kind: "failed", reason: "no", lastLines: [] };

describe("a replica follows its node's word", () => {
  const r = (state: ReplicaState) => replica("r", smol, state);
  test.each<{ name: string; from: ReplicaState; n1: NodeReport; want: string }>([
    {
      name: "taken up",
      from: { kind: "placed" },
      n1: report([seen(r(pending), { kind: "preparing", progress: undefined })]),
      want: "preparing",
    },
    { name: "ready", from: starting, n1: report([seen(r(pending), seenReady)]), want: "ready" },
    {
      name: "an engine that crashed is not ready",
      from: ready,
      n1: report([seen(r(pending), { kind: "starting", note: "again" })]),
      want: "starting",
    },
    {
      name: "given up",
      from: starting,
      n1: report([seen(r(pending), { kind: "failed", reason: "no", lastLines: [] })]),
      want: "failed",
    },
    {
      name: "B33 failed is left when the node tries again",
      from: failed,
      n1: report([seen(r(pending), { kind: "starting", note: "" })]),
      want: "starting",
    },
    { name: "unknown on the node that knows better: from the beginning", from: ready, n1: report([]), want: "placed" },
    {
      name: "unknown on a node that acts on an older state: no evidence",
      from: ready,
      n1: report([], { desiredRevision: 8 }),
      want: "ready",
    },
    {
      name: "a node that has not looked yet: no evidence",
      from: ready,
      n1: report([], { observed: undefined }),
      want: "ready",
    },
    {
      name: "B48 an unreachable node: no evidence",
      from: ready,
      n1: report([], { liveness: "unreachable" }),
      want: "ready",
    },
    {
      name: "another spec under its id: no evidence",
      from: starting,
      n1: report([seen(r(pending), seenReady, { specHash: "other" })]),
      want: "starting",
    },
  ])("$name: $want", ({ from, n1, want }) => {
    const { replicas } = plan({ profiles: [smol], replicas: [r(from)], n1 });
    expect(replicas.find(({ id }) => id === "r")?.state.kind).toBe(want);
  });

  test("a report that says nothing new changes nothing, not even the object", () => {
    const before = replica("r", smol, ready, { restarts: 2, pid: 7 });
    const n1 = report([seen(before, seenReady, { restarts: 2, pid: 7 })]);
    expect(plan({ profiles: [smol], replicas: [before], n1 }).replicas[0]).toBe(before);
  });

  test("restarts and pid come from the node; the time of a state is when it began", () => {
    const n1 = report([seen(replica("r", smol, pending), seenReady, { restarts: 2, pid: 7 })]);
    const [after] = plan({ profiles: [smol], replicas: [replica("r", smol, starting)], n1 }).replicas;
    expect(after).toMatchObject({ restarts: 2, pid: 7, since: now });
  });
});

describe("how many", () => {
  test.each<{ name: string; profiles: readonly Profile[]; replicas: readonly Replica[]; want: readonly string[] }>([
    { name: "none yet", profiles: [times(2)], replicas: [], want: ["create 2"] },
    { name: "enough", profiles: [times(1)], replicas: [replica("a", smol, starting)], want: ["a starting"] },
    {
      name: "failed counts: it is not tried elsewhere again and again",
      profiles: [times(1)],
      replicas: [replica("a", smol, failed)],
      want: ["a failed"],
    },
    {
      name: "fewer: what gives least goes first",
      profiles: [times(1)],
      replicas: [replica("a", smol, pending), replica("b", smol, starting), replica("c", smol, ready)],
      want: ["b stopping", "c ready", "a removed"],
    },
    {
      name: "fewer, all ready: the youngest goes, out of the routes first",
      profiles: [times(1)],
      replicas: [replica("a", smol, ready), replica("b", smol, ready, { createdAt: millis(5) })],
      want: ["a ready", "b draining"],
    },
    {
      name: "changed: a new one first, the old one serves on",
      profiles: [changed],
      replicas: [replica("a", smol, ready)],
      want: ["a ready", "create 1"],
    },
    {
      name: "changed, the new one not ready yet: the old one serves on",
      profiles: [changed],
      replicas: [replica("a", smol, ready), replica("b", changed, starting)],
      want: ["a ready", "b starting"],
    },
    {
      name: "changed, the new one ready: the old one drains",
      profiles: [changed],
      replicas: [replica("a", smol, ready), replica("b", changed, ready)],
      want: ["a draining", "b ready"],
    },
    {
      name: "changed, the old one gives nothing: it goes at once",
      profiles: [changed],
      replicas: [replica("a", smol, failed)],
      want: ["a stopping", "create 1"],
    },
    {
      name: "changed, surge 1 of 3: one more at a time",
      profiles: [times(3, changed)],
      replicas: [replica("a", smol, ready), replica("b", smol, ready), replica("c", smol, ready)],
      want: ["a ready", "b ready", "c ready", "create 1"],
    },
    {
      name: "changed, one may be unavailable and none may surge",
      profiles: [{ ...times(2, changed), rollout: { surge: 0, unavailable: 1, drain: millis(1) } }],
      replicas: [replica("a", smol, ready), replica("b", smol, ready)],
      want: ["a ready", "b draining"],
    },
    {
      name: "changed, neither surge nor unavailable: one surges all the same",
      profiles: [{ ...changed, rollout: { surge: 0, unavailable: 0, drain: millis(1) } }],
      replicas: [replica("a", smol, ready)],
      want: ["a ready", "create 1"],
    },
    {
      name: "deleted: everything goes",
      profiles: [],
      replicas: [replica("a", smol, ready), replica("b", smol, starting), replica("c", smol, pending)],
      want: ["a draining", "b stopping", "c removed"],
    },
  ])("$name", ({ profiles, replicas, want }) => {
    expect(kinds(plan({ profiles, replicas, n1: report([], { observed: undefined }) }))).toEqual(want);
  });
});

describe("draining ends", () => {
  const gone = new Map([[replicaId("a"), 5]]);
  const router = (tableRevision: number, inFlight: number) => ({
    router: "r1",
    tableRevision,
    inFlight: new Map<ReplicaId, number>([[replicaId("a"), inFlight]]),
    waiting: new Map<ProfileName, number>(),
  });
  const silent = report([], { observed: undefined });
  test.each([
    { name: "no router is there", reports: [], want: "stopping" },
    { name: "a router has an older table", reports: [router(4, 0)], want: "draining" },
    { name: "a router has requests in flight", reports: [router(5, 1)], want: "draining" },
    { name: "one of two has", reports: [router(5, 0), router(9, 2)], want: "draining" },
    { name: "all have let go", reports: [router(5, 0), router(9, 0)], want: "stopping" },
  ])("$name: $want", ({ reports, want }) => {
    const a = replica("a", smol, draining);
    const { replicas } = plan({
      profiles: [],
      replicas: [a],
      routers: { reports, goneSince: gone, settled: true },
      n1: silent,
    });
    expect(replicas[0]?.state.kind).toBe(want);
  });

  test.each<{ name: string; view: Partial<ClusterView>; from?: ReplicaState; n1: NodeReport; want: string }>([
    {
      name: "the server has just started, and routers may come back",
      view: { routers: { reports: [], goneSince: gone, settled: false } },
      n1: silent,
      want: "draining",
    },
    { name: "no table without it was made yet", view: {}, n1: silent, want: "draining" },
    {
      name: "its time is over, whatever is in flight",
      view: { routers: { reports: [router(5, 3)], goneSince: gone, settled: true } },
      from: { ...draining, deadline: now },
      n1: silent,
      want: "stopping",
    },
    {
      name: "its engine has ended",
      view: {},
      n1: report([seen(replica("a", smol, ready), { kind: "failed", reason: "", lastLines: [] })]),
      want: "stopping",
    },
    { name: "its node is lost", view: {}, n1: report([], { liveness: "lost" }), want: "lost" },
  ])("$name: $want", ({ view, from = draining, n1, want }) => {
    expect(plan({ replicas: [replica("a", smol, from)], n1, ...view }).replicas[0]?.state.kind).toBe(want);
  });
});

describe("one that starts again and is to go", () => {
  const loading = (since: number) => replica("a", smol, starting, { since: millis(since) });
  const busy: RouterReport = {
    router: "r1",
    tableRevision: 5,
    inFlight: new Map([[replicaId("a"), 2]]),
    waiting: new Map(),
  };
  const routers = (reports: readonly RouterReport[], settled = true) => ({ reports, goneSince: new Map(), settled });
  test.each<{ name: string; since: number; routers: ClusterView["routers"]; want: string }>([
    { name: "nothing is in flight", since: now, routers: routers([]), want: "stopping" },
    {
      name: "its agent has still to ask it, and routers wait for it",
      since: now,
      routers: routers([busy]),
      want: "starting",
    },
    { name: "routers have not come back to a new server", since: now, routers: routers([], false), want: "starting" },
    { name: "it starts for longer than a drain", since: 0, routers: routers([busy]), want: "stopping" },
  ])("$name: $want", ({ since, want, ...view }) => {
    const a = loading(since);
    const n1 = report([seen(a, { kind: "starting", note: "" })]);
    expect(plan({ replicas: [a], n1, ...view }).replicas[0]?.state.kind).toBe(want);
  });
});

describe("stopping ends with proof", () => {
  const a = replica("a", smol, stopping);
  test.each<{ name: string; n1: NodeReport | undefined; want: string }>([
    { name: "still there", n1: report([seen(a, { kind: "stopping" })]), want: "a stopping" },
    { name: "reported stopped", n1: report([seen(a, { kind: "stopped" })]), want: "a stopped" },
    { name: "no longer listed under the newest state", n1: report([]), want: "a stopped" },
    { name: "not listed under an older state", n1: report([], { desiredRevision: 8 }), want: "a stopping" },
    { name: "its node is silent", n1: report([], { liveness: "unreachable" }), want: "a stopping" },
    { name: "its node was removed", n1: undefined, want: "a stopped" },
  ])("$name", ({ n1, want }) => {
    expect(kinds(plan({ replicas: [a], ...(n1 === undefined ? {} : { n1 }) }))).toEqual([want]);
  });

  test("B19 and says what it waits for as long as its node does", () => {
    const held = replica("a", smol, { kind: "stopping", why: "because", note: "held" });
    const after = (note?: string) =>
      plan({ replicas: [held], n1: report([seen(a, { kind: "stopping", ...(note === undefined ? {} : { note }) })]) });
    expect(after("GPU memory still held by pid 9").replicas[0]?.state).toEqual({
      kind: "stopping",
      why: "because",
      note: "GPU memory still held by pid 9",
    });
    expect(after().replicas[0]?.state).toEqual(stopping);
  });

  test("a stopped one is shown once, then removed", () => {
    const { replicas, remove } = plan({ replicas: [replica("a", smol, { kind: "stopped" })], n1: report([]) });
    expect([replicas, remove]).toEqual([[], ["a"]]);
  });
});
