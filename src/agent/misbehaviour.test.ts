import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { fastClock } from "../../test/fakes/fast-clock.ts";
import { steppingClock } from "../../test/fakes/stepping-clock.ts";
import {
  agent,
  desired,
  firstPort,
  HOST,
  id,
  killAgent,
  kindOf,
  ours,
  plan,
  readRecord,
  ready,
  seen,
  untilGone,
  WAIT,
} from "../../test/fakes/replica-bench.ts";
import { gpuUuid, millis, replicaId } from "../core/ids.ts";
import { findCgroupHomes } from "../platform/cgroup.ts";
import { findByEnvironment } from "../platform/proc.ts";

const homes = await findCgroupHomes();
const anyText = (text: string): unknown => expect.stringContaining(text);

describe("where no control group can be made", () => {
  const without = { cgroupHomes: () => Promise.resolve([]) };
  const wanderer = { args: ["--wandering-worker"] };
  /** Leads a session of its own, unlike the engine; the keeper, which does too, is not among them. */
  const worker = async () => {
    const { keeper } = await readRecord();
    const marked = await findByEnvironment("LLMGW_LAUNCH_ID", (await readRecord()).launchId);
    return marked.find(({ pid, session }) => pid === session && pid !== keeper?.pid);
  };
  const workerPid = async (): Promise<number> => {
    await expect.poll(worker, WAIT).toBeDefined();
    return (await worker())?.pid ?? 0;
  };

  test("a worker that left group, session and name is found by its environment, and ended before the next start", async () => {
    const replicas = await agent(without);
    replicas.apply(plan(1, desired(wanderer)));
    const { pid = 0 } = await ready(replicas);
    expect((await readRecord()).cgroups).toEqual([]);
    const left = await workerPid();
    process.kill(pid, "SIGKILL");
    await untilGone(left);
    await expect.poll(() => seen(replicas)?.restarts, WAIT).toBe(1);
    await ready(replicas);
  });

  test("a stop means it too, although it ignores SIGTERM", async () => {
    const replicas = await agent({ ...without, stopTimeout: millis(500) });
    replicas.apply(plan(1, desired(wanderer)));
    await ready(replicas);
    const left = await workerPid();
    replicas.apply(plan(2));
    await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
    await untilGone(left);
  });
});

describe("an engine that needs 60 s to load", () => {
  /** A minute of the agent's in a second of the engine's. */
  const pace = { clock: fastClock(60), healthInterval: millis(3000), random: () => 1 };
  const loading = { args: ["--load-seconds", "1"] };

  test("is waited for, and becomes ready as the process that it was", async () => {
    const replicas = await agent(pace);
    replicas.apply(plan(1, desired({ ...loading, startTimeout: millis(600_000) })));
    await expect.poll(() => seen(replicas)?.state, WAIT).toMatchObject({ note: anyText("loading") });
    const pid = seen(replicas)?.pid;
    expect(await ready(replicas)).toMatchObject({ pid, restarts: 0 });
  });

  test("B33 is ended when it had only 30, with what it was doing then", async () => {
    const replicas = await agent(pace);
    replicas.apply(plan(1, desired({ ...loading, startTimeout: millis(30_000) })));
    await expect
      .poll(() => seen(replicas)?.state, WAIT)
      .toMatchObject({ kind: "starting", note: anyText("start-timeout: not ready within 30s") });
  });
});

test("B19 a stop whose GPU memory stays held names the process that the driver names", async () => {
  let holding = true;
  const replicas = await agent({
    clock: fastClock(60),
    healthInterval: millis(3000),
    gpuHolders: (_gpus, pids) => Promise.resolve(holding ? [...pids].slice(0, 1) : []),
  });
  replicas.apply(plan(1, desired({ gpus: [gpuUuid("GPU-a")], startTimeout: millis(600_000) })));
  await ready(replicas);
  replicas.apply(plan(2));
  const note = expect.stringMatching(/GPU memory still held by pid \d+/) as string;
  await expect.poll(() => seen(replicas)?.state, WAIT).toEqual({ kind: "stopping", note });
  expect(await ours()).toEqual([]);
  holding = false;
  await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
});

test("a look at the machine that fails proves nothing: it is repeated", async () => {
  const failures = [new Error("EMFILE: too many open files"), new Error("EMFILE: too many open files")];
  const replicas = await agent({
    gpuHolders: () => {
      const failure = failures.pop();
      return failure === undefined ? Promise.resolve([]) : Promise.reject(failure);
    },
  });
  replicas.apply(plan(1, desired({ gpus: [gpuUuid("GPU-a")] })));
  await ready(replicas);
  replicas.apply(plan(2));
  await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
  expect(failures).toEqual([]);
});

test("a key that no request can carry is a reason, and no end of the agent", async () => {
  const replicas = await agent();
  replicas.apply(plan(1, desired({ apiKey: "sk-\n" })));
  await expect.poll(() => seen(replicas)?.state, WAIT).toMatchObject({ note: anyText("Invalid character") });
  replicas.apply(plan(2));
  await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
});

test("a wall clock that is set while an engine loads, serves and is taken over moves nothing", async () => {
  const clock = steppingClock();
  const first = await agent({ clock });
  first.apply(plan(1, desired({ args: ["--load-seconds", "1"], startTimeout: millis(20_000) })));
  await expect.poll(kindOf(first), WAIT).toBe("starting");
  clock.step(30 * 86_400_000);
  const { pid } = await ready(first);
  await killAgent(first);
  clock.step(-60 * 86_400_000);
  const second = await agent({ clock });
  second.apply(plan(1, desired({ args: ["--load-seconds", "1"], startTimeout: millis(20_000) })));
  expect(await ready(second)).toMatchObject({ pid, restarts: 0 });
  second.apply(plan(2));
  await expect.poll(kindOf(second), WAIT).toBe("stopped");
});

/** The file that limits a group's memory: v2's, else v1's. */
const limitOf = (folder: string): string | undefined =>
  ["memory.max", "memory.limit_in_bytes"].map((name) => join(folder, name)).find((path) => existsSync(path));
const canLimit = homes.some((home) => limitOf(home) !== undefined || home.includes("/memory"));
if (!canLimit) console.log("skipped: memory of an engine cannot be limited here");

test.skipIf(!canLimit)(
  "an engine that eats all memory is ended by the kernel, with that reason, and no other is",
  async () => {
    const other = replicaId("chat-2");
    const replicas = await agent({ random: () => 1 });
    const both = [desired(), desired({ id: other })];
    const stateOf = (one: typeof id) => replicas.observed.replicas.find((replica) => replica.id === one);
    replicas.apply(plan(1, ...both.slice(0, 1)));
    await ready(replicas);
    const { cgroups } = await readRecord();
    try {
      replicas.apply(plan(2, ...both));
      await expect.poll(() => stateOf(other)?.state.kind, WAIT).toBe("ready");
      const { pid } = stateOf(other) ?? {};
      const limit = cgroups.map(limitOf).find((path) => path !== undefined) ?? "";
      await writeFile(limit, String(192 * 1024 * 1024));
      const eat = { method: "POST", headers: { authorization: "Bearer sk-engine" } };
      await fetch(`http://${HOST}:${String(firstPort)}/eat`, eat).catch(() => undefined);
      await expect
        .poll(() => stateOf(id)?.state, { ...WAIT, timeout: 30_000 })
        .toMatchObject({ note: anyText("out of memory: the kernel") });
      expect(stateOf(other)).toMatchObject({ pid, restarts: 0, state: { kind: "ready" } });
    } finally {
      replicas.apply(plan(3));
      await expect
        .poll(() => replicas.observed.replicas.every(({ state }) => state.kind === "stopped"), WAIT)
        .toBe(true);
    }
  },
);
