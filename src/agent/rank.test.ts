import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  agent,
  desired,
  freePorts,
  HOST,
  id,
  killAgent,
  kindOf,
  ours,
  plan,
  seen,
  untilGone,
  WAIT,
  workDir,
} from "../../test/fakes/replica-bench.ts";
import type { GangMember, GangOrder, RankReport } from "../core/gang.ts";
import { millis, nodeId } from "../core/ids.ts";
import type { DesiredReplica } from "../core/desired.ts";
import type { FabricPort } from "../core/node.ts";
import { systemClock } from "../platform/clock.ts";
import type { NodeContext } from "./node-context.ts";
import { PortBook } from "./port-book.ts";
import type { Replicas } from "./replicas.ts";

const active: FabricPort = {
  ...{ hca: "mlx5_0", port: 1, state: "ACTIVE", linkLayer: "InfiniBand", rateGbps: 200, pciBusId: "" },
  ...{ numaNode: undefined, addresses: [] },
};

interface Told {
  readonly attempt?: number;
  readonly order?: GangOrder;
  readonly members?: readonly GangMember[];
}

const part = (rank: number, { attempt = 1, order = "prepare", members = [] }: Told = {}): DesiredReplica =>
  desired({ gang: { rank, ranks: 2, fabric: "ib-a", attempt, order, members } });

/** The agent of one rank, with a folder and ports of its own. Several on one folder, one after the other, are restarts. */
async function rankAgent(rank: number, over: Partial<NodeContext> = {}): Promise<Replicas> {
  const first = await freePorts(4);
  const own = rank === 0 ? {} : { workDir: join(workDir, "follower") };
  const ports = new PortBook({ first, last: first + 3 });
  return agent({ ...own, ports, fabricPorts: () => [active], ...over });
}

const problems = (replicas: Replicas): readonly string[] | undefined =>
  report(replicas)?.findings?.map(({ problem }) => problem);
const clockAhead = (replicas: Replicas): number => report(replicas)?.findings?.[0]?.clockAhead ?? Number.NaN;

const report = (replicas: Replicas): RankReport | undefined => seen(replicas)?.rank;

async function prepared(replicas: Replicas): Promise<GangMember> {
  await expect.poll(() => report(replicas)?.prepared, WAIT).toBeDefined();
  const { address = "", port = 0 } = report(replicas)?.prepared ?? {};
  return { node: nodeId("n"), address, port };
}

interface Gang {
  readonly head: Replicas;
  readonly follower: Replicas;
  readonly members: readonly GangMember[];
}

const tell = ({ head, follower, members }: Gang, revision: number, told: Told): void => {
  for (const [rank, one] of [head, follower].entries()) one.apply(plan(revision, part(rank, { members, ...told })));
};

async function preparedGang(over: Partial<NodeContext> = {}): Promise<Gang> {
  const [head, follower] = [await rankAgent(0), await rankAgent(1, over)];
  head.apply(plan(1, part(0)));
  follower.apply(plan(1, part(1)));
  return { head, follower, members: [await prepared(head), await prepared(follower)] };
}

async function checkedGang(over: Partial<NodeContext> = {}): Promise<Gang> {
  const gang = await preparedGang(over);
  tell(gang, 2, { order: "check" });
  await expect.poll(() => report(gang.head)?.findings, WAIT).toBeDefined();
  await expect.poll(() => report(gang.follower)?.findings, WAIT).toBeDefined();
  return gang;
}

async function runningGang(): Promise<Gang> {
  const gang = await checkedGang();
  tell(gang, 3, { order: "run" });
  for (const one of [gang.head, gang.follower]) await expect.poll(kindOf(one), WAIT).toBe("ready");
  return gang;
}

const headPid = async (): Promise<number> => (await ours())[0]?.pid ?? expect.fail("no head runs");
const followerPid = ({ follower }: Gang): number => seen(follower)?.pid ?? expect.fail("no follower runs");

const portOf = (address: AddressInfo | string | null): number => (address as AddressInfo).port;

/** With the follower said to be met on another port. */
const elsewhere = ({ members }: Gang, port: number): readonly GangMember[] =>
  members.map((member, rank) => (rank === 0 ? member : { ...member, port }));

describe("a rank prepares, checks the way, and starts only when it is told to", () => {
  test("nothing runs before all may start; then head and follower do, on the head's port", async () => {
    const gang = await checkedGang();
    for (const one of [gang.head, gang.follower]) {
      expect(problems(one)).toEqual([""]);
      expect(Math.abs(clockAhead(one))).toBeLessThan(5000);
      expect(seen(one)).toMatchObject({
        state: { kind: "starting", note: "waits for the other ranks" },
        pid: undefined,
      });
    }
    expect(await ours()).toEqual([]);
    tell(gang, 3, { order: "run" });
    for (const one of [gang.head, gang.follower]) await expect.poll(kindOf(one), WAIT).toBe("ready");
    expect(report(gang.follower)).toMatchObject({ rank: 1, attempt: 1, launched: true });
    expect(gang.members[0]?.port).not.toBe(gang.members[1]?.port);
  });

  test("what it says of its model is the same on nodes that hold the same", async () => {
    const { head, follower } = await preparedGang();
    expect(report(head)?.prepared?.weights).toBe(report(follower)?.prepared?.weights);
    expect(report(head)?.prepared?.engine).toBe("llama.cpp b1");
  });

  test("a stranger where a peer should be, and a clock that is a minute off, are found", async () => {
    const clock = { ...systemClock, now: () => millis(systemClock.now() - 60_000) };
    const gang = await preparedGang({ clock });
    const stranger = createServer((socket) => {
      socket.on("error", () => undefined).end("SSH-2.0-OpenSSH_9.2\r\n");
    }).listen(0, HOST);
    await once(stranger, "listening");
    const port = portOf(stranger.address());
    gang.head.apply(plan(2, part(0, { order: "check", members: elsewhere(gang, port) })));
    gang.follower.apply(plan(2, part(1, { order: "check", members: gang.members })));
    await expect.poll(() => problems(gang.head), WAIT).toBeDefined();
    await expect.poll(() => problems(gang.follower), WAIT).toEqual([""]);
    stranger.close();
    expect(problems(gang.head)).toEqual([`${HOST} port ${String(port)} is answered by something else`]);
    expect(clockAhead(gang.follower)).toBeGreaterThan(55_000);
  });

  test("a peer that does not answer is found", async () => {
    const gang = await preparedGang();
    const free = await freePorts(1);
    gang.head.apply(plan(2, part(0, { order: "check", members: elsewhere(gang, free) })));
    await expect
      .poll(() => problems(gang.head)?.[0], WAIT)
      .toContain(`${HOST} port ${String(free)}: connect ECONNREFUSED`);
  });

  test("a node without an active port of the fabric says so", async () => {
    const { follower } = await checkedGang({ fabricPorts: () => [{ ...active, state: "DOWN" }] });
    expect(problems(follower)).toEqual(["no port of fabric ib-a is active here"]);
  });
});

describe("the end of a rank", () => {
  test("it is not started again by itself; under a new attempt it is ended where it runs, and begins anew", async () => {
    const gang = await runningGang();
    const survivor = await headPid();
    process.kill(followerPid(gang), "SIGKILL");
    await expect.poll(kindOf(gang.follower), WAIT).toBe("failed");
    expect(report(gang.follower)).toMatchObject({ attempt: 1, launched: true, retry: true, blamesOthers: false });
    expect(report(gang.follower)?.endedAt).toBeGreaterThan(0);
    expect(seen(gang.head)?.pid).toBe(survivor);
    tell({ ...gang, members: [] }, 4, { attempt: 2 });
    await untilGone(survivor);
    await expect.poll(() => report(gang.head)?.attempt, WAIT).toBe(2);
    const members = [await prepared(gang.head), await prepared(gang.follower)];
    expect(await ours()).toEqual([]);
    const second = { ...gang, members };
    tell(second, 5, { attempt: 2, order: "check" });
    for (const one of [gang.head, gang.follower]) {
      await expect.poll(() => problems(one), WAIT).toEqual([""]);
    }
    tell(second, 6, { attempt: 2, order: "run" });
    for (const one of [gang.head, gang.follower]) await expect.poll(kindOf(one), WAIT).toBe("ready");
  });
});

describe("an agent that starts again", () => {
  test("takes over its rank as it is", async () => {
    const gang = await runningGang();
    const pid = await headPid();
    await killAgent(gang.head);
    const next = await rankAgent(0);
    expect(seen(next)).toMatchObject({ pid, state: { kind: "ready" }, rank: { rank: 0, attempt: 1, launched: true } });
    next.apply(plan(3, part(0, { order: "run", members: gang.members })));
    expect(seen(next)).toMatchObject({ pid, state: { kind: "ready" } });
  });

  test("ends a rank whose attempt is over", async () => {
    const gang = await runningGang();
    const pid = await headPid();
    await killAgent(gang.head);
    const next = await rankAgent(0);
    next.apply(plan(4, part(0, { attempt: 2 })));
    await untilGone(pid);
    await expect.poll(() => report(next), WAIT).toMatchObject({ attempt: 2, launched: false });
  });

  test("starts nothing that it did not check itself: between the check and the start it was away", async () => {
    const gang = await checkedGang();
    await killAgent(gang.head);
    const next = await rankAgent(0);
    next.apply(plan(3, part(0, { order: "run", members: gang.members })));
    await expect.poll(kindOf(next), WAIT).toBe("failed");
    expect(seen(next)?.state).toMatchObject({
      reason: "its node's agent was started again before the ranks were, and cannot know what became of this start",
    });
    expect(await ours()).toEqual([]);
  });

  test("does not start again what ended while it was away, and says how it ended", async () => {
    const gang = await runningGang();
    const pid = await headPid();
    await killAgent(gang.head);
    process.kill(pid, "SIGKILL");
    await untilGone(pid);
    const next = await rankAgent(0);
    next.apply(plan(3, part(0, { order: "run", members: gang.members })));
    await expect.poll(kindOf(next), WAIT).toBe("failed");
    const state = seen(next)?.state;
    const reason = state?.kind === "failed" ? state.reason : "";
    expect(reason).toMatch(/^while no agent was there, its process ended: it ended with SIGKILL/);
    expect(seen(next)?.id).toBe(id);
  });
});
