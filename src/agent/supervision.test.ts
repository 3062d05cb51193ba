import { readFile, writeFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { describe, expect, test } from "vitest";
import {
  agent,
  desired,
  firstPort,
  gatePath,
  HOST,
  killAgent,
  kindOf,
  logPath,
  ours,
  oursWithKeepers,
  plan,
  readRecord,
  ready,
  recordPath,
  seen,
  untilGone,
  WAIT,
} from "../../test/fakes/replica-bench.ts";
import { bytes, gpuUuid, millis } from "../core/ids.ts";
import { cgroupMembers, findCgroupHomes } from "../platform/cgroup.ts";
import { hasEnded, listProcesses } from "../platform/proc.ts";
import type { LaunchRecord } from "../reconcile/adopt.ts";
import { serialiseLaunchRecord } from "./launch-record.ts";

const homes = await findCgroupHomes();
if (homes.length === 0)
  console.log("skipped: no control group can be made here, so what leaves an engine's is not tried");

const order = (path: string): Promise<unknown> =>
  fetch(`http://${HOST}:${String(firstPort)}${path}`, {
    method: "POST",
    headers: { authorization: "Bearer sk-engine" },
  }).catch(() => undefined);

const anyText = (text: string): unknown => expect.stringContaining(text);

describe("an exit status is kept", () => {
  test("of an engine that ended while no agent was there", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid = 0 } = await ready(first);
    await killAgent(first);
    await order("/end/7");
    await untilGone(pid);
    const second = await agent();
    second.apply(plan(1, desired()));
    expect(second.supervisions[0]).toMatchObject({ launches: 1, lastEnd: anyText("it ended with 7") });
    expect((await ready(second)).restarts).toBe(1);
  });

  test("of an adopted engine, and it is shown", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    await ready(first);
    await killAgent(first);
    const second = await agent({ random: () => 1 });
    second.apply(plan(1, desired()));
    await order("/end/7");
    await expect.poll(() => seen(second)?.state, WAIT).toMatchObject({ note: anyText("it ended with 7") });
  });

  test("exit 0 is no success for an engine that should serve: it is tried again, and given up with a reason", async () => {
    const replicas = await agent({ random: () => 0 });
    replicas.apply(plan(1, desired({ args: ["--exit-code", "0"] })));
    await expect.poll(kindOf(replicas), WAIT).toBe("failed");
    expect(seen(replicas)).toMatchObject({ restarts: 4, state: { reason: anyText("it ended with 0") } });
  });

  test("a killed keeper takes nothing with it: the engine serves on, and its status is said to be unknown", async () => {
    const replicas = await agent({ random: () => 1 });
    replicas.apply(plan(1, desired()));
    const { pid = 0 } = await ready(replicas);
    const { keeper } = await readRecord();
    process.kill(keeper?.pid ?? 0, "SIGKILL");
    await untilGone(keeper?.pid ?? 0);
    expect(seen(replicas)?.state.kind).toBe("ready");
    process.kill(pid, "SIGKILL");
    await expect
      .poll(() => seen(replicas)?.state, WAIT)
      .toMatchObject({ kind: "starting", note: anyText("with an unknown status") });
  });
});

describe("an engine is found out", () => {
  const hangPolicy = { slowAfter: millis(200), proveAfter: millis(500), hungAfter: millis(1000) };

  test("that hangs although its health is fine: it is started anew, with the reason", async () => {
    const replicas = await agent({ hangPolicy, random: () => 1 });
    replicas.apply(plan(1, desired({ args: ["--hang-work"] })));
    await ready(replicas);
    await expect.poll(() => seen(replicas)?.state, WAIT).toMatchObject({ note: anyText("hung: it has work") });
    await expect.poll(() => replicas.supervisions[0]?.launches, WAIT).toBe(2);
  });

  test("but not one that has nothing to do", async () => {
    const replicas = await agent({ hangPolicy });
    replicas.apply(plan(1, desired()));
    const { pid } = await ready(replicas);
    const slowest = performance.now() + 3 * hangPolicy.hungAfter;
    await expect.poll(() => performance.now() > slowest, WAIT).toBe(true);
    expect(seen(replicas)).toMatchObject({ pid, restarts: 0, state: { kind: "ready" } });
  });

  test("that needs long to load: it is waited for, and is the same process afterwards", async () => {
    const loaded = gatePath();
    const replicas = await agent();
    replicas.apply(plan(1, desired({ args: ["--loading-until", loaded], startTimeout: millis(60_000) })));
    await expect.poll(() => seen(replicas)?.state, WAIT).toMatchObject({ note: anyText("loading") });
    const pid = seen(replicas)?.pid;
    await writeFile(loaded, "");
    expect(await ready(replicas)).toMatchObject({ pid, restarts: 0 });
  });

  test("that fills its log: the log stays bounded, its end is kept, and the writer goes on", async () => {
    const limit = 1024 * 1024;
    const replicas = await agent({ logLimit: bytes(limit) });
    replicas.apply(plan(1, desired({ args: ["--flood"] })));
    const { pid } = await ready(replicas);
    const aside = `${logPath()}.1`;
    await expect.poll(async () => (await readFile(aside).catch(() => "")).length, WAIT).toBe(limit / 4);
    await expect.poll(async () => (await readFile(logPath())).length, WAIT).toBeGreaterThan(0);
    expect((await readRecord()).logOffset).toBe(0);
    expect(seen(replicas)).toMatchObject({ pid, state: { kind: "ready" } });
  });
});

describe("B19 what an engine leaves behind", () => {
  const disguised = async (members: ReadonlySet<number>) =>
    (await listProcesses()).filter((stat) => members.has(stat.pid) && !hasEnded(stat) && stat.pid === stat.session);

  test.skipIf(homes.length === 0)(
    "is ended also when it left group, session, environment and name (skipped where no control group can be made)",
    async () => {
      const replicas = await agent();
      replicas.apply(plan(1, desired({ args: ["--disguised-worker"] })));
      const { pid = 0 } = await ready(replicas);
      const { cgroups } = await readRecord();
      await expect.poll(async () => (await disguised(await cgroupMembers(cgroups))).length, WAIT).toBe(1);
      const [worker] = await disguised(await cgroupMembers(cgroups));
      expect((await ours()).map((stat) => stat.pid)).not.toContain(worker?.pid);
      process.kill(pid, "SIGKILL");
      await untilGone(worker?.pid ?? 0);
      await expect.poll(() => seen(replicas)?.restarts, WAIT).toBe(1);
      await ready(replicas);
      replicas.apply(plan(2));
      await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
      expect(await ours()).toEqual([]);
    },
  );

  test.skipIf(homes.length === 0)("and also when it ended while no agent was there", async () => {
    const first = await agent();
    first.apply(plan(1, desired({ args: ["--disguised-worker"] })));
    const { pid = 0 } = await ready(first);
    const { cgroups } = await readRecord();
    await expect.poll(async () => (await disguised(await cgroupMembers(cgroups))).length, WAIT).toBe(1);
    await killAgent(first);
    process.kill(pid, "SIGKILL");
    await untilGone(pid);
    await agent();
    expect(await disguised(await cgroupMembers(cgroups))).toEqual([]);
  });

  test("is waited for: GPUs whose memory is still held are not given to the next", async () => {
    let holding = true;
    const asked: ReadonlySet<number>[] = [];
    const replicas = await agent({
      gpuHolders: (_gpus, pids) => {
        asked.push(pids);
        return Promise.resolve(holding ? [...pids].slice(0, 1) : []);
      },
    });
    const gpus = [gpuUuid("GPU-a")];
    replicas.apply(plan(1, desired({ gpus })));
    const { pid = 0 } = await ready(replicas);
    replicas.apply(plan(2, desired({ gpus, specHash: "h2" })));
    await untilGone(pid);
    await expect.poll(() => asked.length, WAIT).toBeGreaterThan(2);
    expect(asked[0]?.has(pid)).toBe(true);
    expect(seen(replicas)?.state.kind).toBe("stopping");
    expect(await ours()).toEqual([]);
    holding = false;
    await expect.poll(() => seen(replicas), WAIT).toMatchObject({ specHash: "h2", state: { kind: "ready" } });
  });
});

describe("a record that is only half of it", () => {
  /** As it was written before the spawn. */
  const forgetSpawn = async (): Promise<LaunchRecord> => {
    const record = await readRecord();
    const intent = { ...record, process: undefined, keeper: undefined, cgroups: [], capacity: undefined };
    await writeFile(recordPath(), serialiseLaunchRecord(intent));
    return record;
  };

  test("with its keeper killed too, the engine is known by its arguments and environment among its workers", async () => {
    const first = await agent();
    first.apply(plan(1, desired({ args: ["--worker", "--wandering-worker"] })));
    const { pid } = await ready(first);
    await killAgent(first);
    const { keeper } = await forgetSpawn();
    process.kill(keeper?.pid ?? 0, "SIGKILL");
    await untilGone(keeper?.pid ?? 0);
    const second = await agent();
    expect(seen(second)?.pid).toBe(pid);
    second.apply(plan(2));
    await expect.poll(kindOf(second), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
  });

  test("with the engine gone, a worker that it left is not taken for it, and is ended", async () => {
    const first = await agent();
    first.apply(plan(1, desired({ args: ["--wandering-worker"] })));
    const { pid = 0 } = await ready(first);
    await expect.poll(async () => (await ours()).length + (await oursWithKeepers()).length, WAIT).toBeGreaterThan(3);
    await killAgent(first);
    const { keeper } = await forgetSpawn();
    process.kill(pid, "SIGKILL");
    await untilGone(keeper?.pid ?? 0);
    expect((await oursWithKeepers()).length).toBeGreaterThan(0);
    const second = await agent();
    expect(second.observed.replicas).toEqual([]);
    expect(await oursWithKeepers()).toEqual([]);
  });

  test("an engine whose start is under way is waited for, and taken over", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid } = await ready(first);
    await killAgent(first);
    const record = await readRecord();
    const intent = { ...record, process: undefined, keeper: undefined, cgroups: [], capacity: undefined };
    await writeFile(recordPath(), serialiseLaunchRecord(intent));
    const second = await agent();
    expect(seen(second)?.pid).toBe(pid);
    second.apply(plan(2));
    await expect.poll(kindOf(second), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
    await expect
      .poll(
        () =>
          new Promise((resolve) => {
            const probe = createConnection(firstPort, HOST);
            probe.once("connect", () => {
              probe.destroy();
              resolve("taken");
            });
            probe.once("error", () => {
              resolve("free");
            });
          }),
        WAIT,
      )
      .toBe("free");
  });
});
