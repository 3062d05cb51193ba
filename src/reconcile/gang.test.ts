import { describe, expect, test } from "vitest";
import {
  A,
  B,
  type Said,
  big,
  dead,
  ended,
  found,
  gangReplica,
  isChecked,
  isPrepared,
  later,
  members,
  now,
  prepared,
  ready,
  running,
  runs,
  said,
  starting,
  summary,
  waits,
} from "../../test/fakes/gangs.ts";
import { bytes, millis } from "../core/ids.ts";
import type { Replica } from "../core/replica-state.ts";
import { desiredReplicas } from "./desired.ts";

describe("all ranks get ready, try the way to each other, and start together", () => {
  test.each<{ name: string; of: Replica; a: Said | undefined; b: Said | undefined; want: string }>([
    {
      name: "nobody has taken it up",
      of: gangReplica({ kind: "placed" }),
      a: undefined,
      b: undefined,
      want: "placed 1 prepare",
    },
    { name: "one prepares", of: gangReplica({ kind: "placed" }), a: {}, b: undefined, want: "preparing 1 prepare" },
    {
      name: "one is prepared, one is not",
      of: gangReplica({ kind: "placed" }),
      a: isPrepared(0),
      b: {},
      want: "preparing 1 prepare",
    },
    {
      name: "both are prepared",
      of: gangReplica({ kind: "placed" }),
      a: isPrepared(0),
      b: isPrepared(1),
      want: "starting 1 check",
    },
    {
      name: "both are prepared, but it is too early for the next try",
      of: gangReplica(starting, { attempt: 2, failures: 1, retryAt: millis(now + 1) }),
      a: isPrepared(0),
      b: isPrepared(1),
      want: "starting 2 prepare",
    },
    {
      name: "both have checked",
      of: gangReplica(starting, { order: "check", members }),
      a: isChecked(0),
      b: isChecked(1),
      want: "starting 1 run",
    },
    {
      name: "one runs and has no head yet",
      of: gangReplica(starting, running),
      a: isChecked(0),
      b: runs(1),
      want: "starting 1 run",
    },
    {
      name: "the head answers: ready",
      of: gangReplica(starting, running),
      a: runs(0),
      b: runs(1),
      want: "ready 1 run",
    },
    {
      name: "a follower that calls itself ready makes nothing ready",
      of: gangReplica(starting, running),
      a: runs(0, { kind: "starting", note: "loading" }),
      b: runs(1),
      want: "starting 1 run",
    },
    {
      name: "what is said of an earlier attempt counts for nothing",
      of: gangReplica(starting, { attempt: 2, failures: 1 }),
      a: { state: waits, report: { attempt: 1, prepared: prepared(0) } },
      b: isPrepared(1),
      want: "starting 2 prepare",
    },
  ])("$name", ({ of, a, b, want }) => {
    expect(summary(said(of, a, b))).toBe(want);
  });

  test("where the ranks meet is what they said of themselves, and each node is told its own rank", () => {
    const { replica: next } = said(gangReplica({ kind: "placed" }), isPrepared(0), isPrepared(1));
    expect(next.gang?.members).toEqual(members);
    const tasks = [A, B].map((on) => desiredReplicas(on, [next], () => big)[0]);
    expect(tasks.map((task) => task?.gang)).toEqual([
      { rank: 0, ranks: 2, fabric: "ib-a", attempt: 1, order: "check", members },
      { rank: 1, ranks: 2, fabric: "ib-a", attempt: 1, order: "check", members },
    ]);
    expect(tasks.map((task) => [task?.engine, task?.gpus, task?.parallel])).toEqual([
      ["vllm", ["a-0"], { tensor: 2, pipeline: 1 }],
      ["vllm", ["b-0"], { tensor: 2, pipeline: 1 }],
    ]);
  });

  test("progress is that of a rank that is still at it, by its node's name", () => {
    const progress = { what: "weights", bytesDone: bytes(1), bytesTotal: bytes(2), bytesPerSecond: 1 };
    const { replica: next } = said(gangReplica({ kind: "placed" }), isPrepared(0), {
      state: { kind: "preparing", progress },
    });
    expect(next.state).toEqual({ kind: "preparing", progress: { ...progress, what: "b: weights" } });
  });
});

describe("what keeps it from being started", () => {
  const checking = gangReplica(starting, { order: "check", members });
  test.each<{ name: string; of?: Replica; a: Said; b: Said; want: string }>([
    {
      name: "another version of the engine",
      a: isPrepared(0),
      b: { state: waits, report: { prepared: { ...prepared(1), engine: "vllm 0.32.0" } } },
      want: "b has vllm 0.32.0, and the head a has vllm 0.33.0",
    },
    {
      name: "another revision of the weights",
      a: isPrepared(0),
      b: { state: waits, report: { prepared: { ...prepared(1), weights: "w2" } } },
      want: "the model's files on b are not those on the head a: another revision",
    },
    {
      name: "other contents under the same names and sizes",
      a: { state: waits, report: { prepared: { ...prepared(0), digest: "d1" } } },
      b: { state: waits, report: { prepared: { ...prepared(1), digest: "d2" } } },
      want: "the model's files on b are not those on the head a: another revision",
    },
    {
      name: "B136 a head that gives a loopback address",
      a: { state: waits, report: { prepared: { ...prepared(0), address: "127.0.1.1" } } },
      b: isPrepared(1),
      want: "a gives 127.0.1.1 as its address, on which no other node reaches it: set mgmt_addr in its agent.yaml",
    },
    {
      name: "B136 no address at all",
      a: { state: waits, report: { prepared: { ...prepared(0), address: "" } } },
      b: isPrepared(1),
      want: "a has no address that the others could reach: set mgmt_addr in its agent.yaml",
    },
    {
      name: "a node that cannot reach the head",
      of: checking,
      a: isChecked(0),
      b: isChecked(1, "10.0.0.1 port 41001: connect ETIMEDOUT"),
      want: "b to a: 10.0.0.1 port 41001: connect ETIMEDOUT",
    },
    {
      name: "clocks that are far apart",
      of: checking,
      a: isChecked(0, "", 61_000),
      b: isChecked(1, "", -61_000),
      want: "the clock of b is 1m1s ahead of that of a, and at most 5s are allowed: set both by one time server",
    },
    {
      name: "a node that did not try",
      of: checking,
      a: { state: waits, report: { prepared: prepared(0), findings: [] } },
      b: isChecked(1),
      want: "a did not try the way to b",
    },
  ])("$name", ({ of = gangReplica({ kind: "placed" }), a, b, want }) => {
    const followed = said(of, a, b);
    expect(summary(followed)).toBe("starting 2 prepare");
    expect(followed.replica.gang?.check?.problems).toEqual([want]);
    expect(followed.replica.gang?.lastEnd).toBe(`before the start: ${want}`);
    expect(followed.replica.restarts).toBe(0);
  });

  test("on one machine all may meet on loopback", () => {
    const on = (rank: number): Said => ({
      ...{ state: waits, report: { prepared: { ...prepared(rank), address: `127.0.0.${String(rank + 2)}` } } },
    });
    expect(summary(said(gangReplica({ kind: "placed" }), on(0), on(1)))).toBe("starting 1 check");
  });

  test("the result of the check is kept while the gang runs", () => {
    const { replica: next } = said(checking, isChecked(0), isChecked(1, "", -40));
    expect(next.gang?.check).toEqual({ attempt: 1, at: now, problems: [], clockSpread: 40 });
  });
});

describe("it dies together", () => {
  test("the first rank that ends gives the reason and the last lines; all begin again under a new number", () => {
    const of = gangReplica(ready, running);
    const { replica: next, events } = later(of, runs(0), ended(1, "killed by SIGKILL", now));
    expect(next.gang).toMatchObject({ attempt: 2, order: "prepare", members: [], failures: 1, retryAt: now + 1500 });
    expect(next.gang?.lastEnd).toBe("rank 1 on b: killed by SIGKILL");
    expect(next.restarts).toBe(1);
    expect(next.state).toEqual({
      kind: "starting",
      note: "rank 1 on b: killed by SIGKILL; all ranks are stopped, and started together in 1s at the earliest",
    });
    expect(events.map(({ reason, message }) => `${reason} ${message}`)).toEqual([
      "GangAttemptEnded big-1: attempt 1 is over: rank 1 on b: killed by SIGKILL; " +
        "all ranks are stopped, and started together in 1s at the earliest",
    ]);
  });

  test("with the first end it serves no more; the others' are waited for, and an earlier one gives the reason", () => {
    const of = gangReplica(ready, running);
    const first = said(of, runs(0), ended(1, "NCCL error: remote process exited", now));
    expect(summary(first)).toBe("starting 1 run");
    expect(first.events).toEqual([]);
    const both = said(first.replica, ended(0, "killed", now - 3), ended(1, "NCCL error: remote process exited", now));
    expect(summary(both)).toBe("starting 2 prepare");
    expect(both.replica.gang?.lastEnd).toBe("rank 0 on a: killed");
    // What its agent has forgotten since is not forgotten here.
    const silent = said(first.replica, runs(0), undefined, millis(now + 500));
    expect(silent.replica.gang?.lastEnd).toBe("rank 1 on b: NCCL error: remote process exited");
  });

  const lost = { blamesOthers: true };
  test.each<{ name: string; a: Said; b: Said; want: string }>([
    {
      name: "over one that ended before it and says that the others were lost",
      a: ended(0, "the other ranks were lost", now - 9, lost),
      b: ended(1, "killed by SIGKILL", now),
      want: "rank 1 on b: killed by SIGKILL",
    },
    {
      name: "of the head too",
      a: ended(0, "killed by SIGKILL", now),
      b: ended(1, "the other ranks were lost", now - 9, lost),
      want: "rank 0 on a: killed by SIGKILL",
    },
    {
      name: "of two that lost each other the earlier one",
      a: ended(0, "the other ranks were lost", now, lost),
      b: ended(1, "the others were lost", now - 9, lost),
      want: "rank 1 on b: the others were lost",
    },
  ])("the end that has a cause of its own gives the reason: $name", ({ a, b, want }) => {
    const { replica: next } = said(gangReplica(ready, running), a, b);
    expect(next.gang?.lastEnd).toBe(want);
  });

  test("the cause of an end that blames others is waited for longer, and not for ever", () => {
    const a = ended(0, "the other ranks were lost", now, lost);
    const first = said(gangReplica(ready, running), a, runs(1));
    const waiting = said(first.replica, a, runs(1), millis(now + 2_999));
    expect(summary(waiting)).toBe("starting 1 run");
    const late = said(waiting.replica, a, ended(1, "killed by SIGKILL", now), millis(now + 2_999));
    expect(late.replica.gang?.lastEnd).toBe("rank 1 on b: killed by SIGKILL");
    const never = said(waiting.replica, a, runs(1), millis(now + 3_000));
    expect(never.replica.gang?.lastEnd).toBe("rank 0 on a: the other ranks were lost");
  });

  test("of two that ended the earlier one, by one clock", () => {
    const of = gangReplica(ready, running);
    // The follower's clock is 3 s behind: it ended after the head, although its clock says otherwise.
    const a = ended(0, "head", now, { findings: found(0, "", -3000) });
    const b = ended(1, "follower", now - 2000, { findings: found(1, "", 3000) });
    expect(said(of, a, b).replica.gang?.lastEnd).toBe("rank 0 on a: head");
    const c = ended(1, "follower", now - 4000, { findings: found(1, "", 3000) });
    expect(said(of, a, c).replica.gang?.lastEnd).toBe("rank 1 on b: follower");
  });

  test("each end in a row is waited for longer, and the fifth that never served is the last", () => {
    const delays = [1, 2, 3].map((failures) => {
      const of = gangReplica(starting, { ...running, attempt: failures + 1, failures });
      return (later(of, ended(0, "no", now), runs(1)).replica.gang?.retryAt ?? 0) - now - 500;
    });
    expect(delays).toEqual([2000, 4000, 8000]);
    const last = later(gangReplica(starting, { ...running, attempt: 5, failures: 4 }), ended(0, "no", now), runs(1));
    expect(last.replica.state).toEqual({ kind: "failed", reason: "rank 0 on a: no", lastLines: ["no!"] });
    expect(summary(last)).toBe("failed 6 prepare");
    expect(summary(said(last.replica, isPrepared(0), isPrepared(1)))).toBe("failed 6 prepare");
  });

  test("what makes no sense to repeat is not repeated, but what has served is", () => {
    const end = ended(1, "no such model", now, { retry: false });
    expect(summary(later(gangReplica(starting, running), runs(0), end))).toBe("failed 2 prepare");
    expect(summary(later(gangReplica(ready, running), runs(0), end))).toBe("starting 2 prepare");
  });

  test("a gang that served for a minute begins a new count", () => {
    const of = gangReplica(ready, { ...running, failures: 4 }, { since: millis(now - 60_000) });
    expect(later(of, ended(0, "x", now), runs(1)).replica.gang?.failures).toBe(1);
  });

  test("a rank that gave up on its preparation ends it for all", () => {
    const of = gangReplica({ kind: "preparing", progress: undefined });
    const followed = later(of, isPrepared(0), { state: dead("no such model"), report: { retry: false } });
    expect(followed.replica.state).toMatchObject({ kind: "failed", reason: "rank 1 on b: no such model" });
  });
});
