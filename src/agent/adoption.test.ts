import { writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import {
  agent,
  desired,
  firstPort,
  gatePath,
  killAgent,
  kindOf,
  ours,
  plan,
  readRecord,
  ready,
  recordPath,
  seen,
  strangerOn,
  untilGone,
  WAIT,
} from "../../test/fakes/replica-bench.ts";
import { hasEnded, listProcesses } from "../platform/proc.ts";
import { serialiseLaunchRecord } from "./launch-record.ts";

describe("an agent that comes back", () => {
  test("takes over what it left, same pid, ready at once, without being asked", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid } = await ready(first);
    await killAgent(first);
    const second = await agent();
    expect(seen(second)).toMatchObject({ pid, restarts: 0, state: { kind: "ready", slots: 3 } });
    second.apply(plan(1, desired()));
    expect(seen(second)).toMatchObject({ pid, state: { kind: "ready" } });
    expect(await ours()).toHaveLength(1);
  });

  test("takes over an engine that still loads, and it becomes ready", async () => {
    const loaded = gatePath();
    const first = await agent();
    first.apply(plan(1, desired({ args: ["--loading-until", loaded] })));
    await expect.poll(() => seen(first)?.pid, WAIT).toBeTypeOf("number");
    const pid = seen(first)?.pid;
    await killAgent(first);
    const second = await agent();
    expect(seen(second)).toMatchObject({ pid, state: { kind: "starting" } });
    await writeFile(loaded, "");
    expect((await ready(second)).pid).toBe(pid);
  });

  test("finds what it had spawned when it was killed before it could write down the pid", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid } = await ready(first);
    await killAgent(first);
    const record = await readRecord();
    await writeFile(recordPath(), serialiseLaunchRecord({ ...record, process: undefined, capacity: undefined }));
    const second = await agent();
    expect(seen(second)?.pid).toBe(pid);
    expect((await ready(second)).pid).toBe(pid);
  });

  test("stops what is no longer wanted, once it has been told so", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    await ready(first);
    await killAgent(first);
    const second = await agent();
    expect(await ours()).toHaveLength(1);
    second.apply(plan(2));
    await expect.poll(kindOf(second), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
  });

  test("B25 notices the end of what it took over, also as a zombie", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid = 0 } = await ready(first);
    await killAgent(first);
    const second = await agent();
    second.apply(plan(1, desired()));
    process.kill(pid, "SIGKILL");
    await expect.poll(() => seen(second)?.restarts, WAIT).toBe(1);
    expect((await ready(second)).pid).not.toBe(pid);
  });

  test("B21 adopts and signals nothing after a reboot, whatever has the pid now", async () => {
    const stranger = await agent();
    stranger.apply(plan(1, desired()));
    const { pid } = await ready(stranger);
    await killAgent(stranger);
    const record = await readRecord();
    await writeFile(
      recordPath(),
      serialiseLaunchRecord({ ...record, bootId: "11111111-1111-1111-1111-111111111111", launchId: "another" }),
    );
    const second = await agent();
    expect(second.observed.replicas).toEqual([]);
    expect((await listProcesses()).some((stat) => stat.pid === pid && !hasEnded(stat))).toBe(true);
  });

  test("a recycled pid is neither adopted nor signalled", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid } = await ready(first);
    await killAgent(first);
    const record = await readRecord();
    const recycled = { pid: process.pid, startTicks: 1 };
    await writeFile(recordPath(), serialiseLaunchRecord({ ...record, launchId: "another", process: recycled }));
    const second = await agent();
    expect(second.observed.replicas).toEqual([]);
    expect((await ours()).map((stat) => stat.pid)).toEqual([pid]);
  });

  test("half a record is not believed, and its engine does not get a second copy beside it", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid } = await ready(first);
    await killAgent(first);
    await writeFile(recordPath(), serialiseLaunchRecord(await readRecord()).slice(0, 200));
    const second = await agent();
    expect((await ours()).map((stat) => stat.pid)).toEqual([pid]);
    second.apply(plan(1, desired()));
    const after = await ready(second);
    expect((await ours()).map((stat) => stat.pid)).toEqual([after.pid]);
    expect(after.pid).not.toBe(pid);
  });

  test("B22 a stranger on the engine's port is neither adopted nor ended, and another port is taken", async () => {
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid = 0 } = await ready(first);
    await killAgent(first);
    process.kill(pid, "SIGKILL");
    await untilGone(pid);
    const stranger = await strangerOn(firstPort);
    const second = await agent();
    expect(second.observed.replicas).toEqual([]);
    second.apply(plan(1, desired()));
    expect(await ready(second)).toMatchObject({ restarts: 1, state: { endpoint: { port: firstPort + 1 } } });
    expect(stranger.listening).toBe(true);
    stranger.close();
  });
});
