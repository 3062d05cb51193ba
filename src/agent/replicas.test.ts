import { readFile, writeFile } from "node:fs/promises";
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
  plan,
  readRecord,
  ready,
  recordPath,
  seen,
  strangerOn,
  WAIT,
} from "../../test/fakes/replica-bench.ts";
import { millis } from "../core/ids.ts";
import { LAUNCH_MARK } from "./launch-processes.ts";
import { serialiseLaunchRecord } from "./launch-record.ts";

describe("a replica's life", () => {
  test("is started, proven, reported and stopped, and leaves nothing", async () => {
    const replicas = await agent();
    replicas.apply(plan(1, desired()));
    expect(await ready(replicas)).toMatchObject({
      restarts: 0,
      state: { endpoint: { host: HOST, port: firstPort }, slots: 3, context: 512, engine: "llama.cpp b1" },
    });
    const before = seen(replicas);
    replicas.apply(plan(1, desired()));
    replicas.apply(plan(2, desired()));
    expect(seen(replicas)).toEqual(before);
    replicas.apply(plan(3));
    await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
    await expect.poll(() => readFile(recordPath()).catch(() => "no file")).toBe("no file");
  });

  test("a changed profile is another process", async () => {
    const replicas = await agent();
    replicas.apply(plan(1, desired()));
    const before = await ready(replicas);
    replicas.apply(plan(2, desired({ specHash: "h2" })));
    await expect.poll(() => seen(replicas), WAIT).toMatchObject({ specHash: "h2", state: { kind: "ready" } });
    expect(seen(replicas)?.pid).not.toBe(before.pid);
    expect((await ours()).map(({ pid }) => pid)).toEqual([seen(replicas)?.pid]);
  });

  test("a killed engine is started again, with the reason", async () => {
    const replicas = await agent();
    replicas.apply(plan(1, desired()));
    const { pid = 0 } = await ready(replicas);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => seen(replicas)?.restarts, WAIT).toBe(1);
    expect((await ready(replicas)).pid).not.toBe(pid);
  });

  test("an exit that cannot go better is failed at once, with the last lines", async () => {
    const replicas = await agent();
    replicas.apply(plan(1, desired({ args: ["--exit-code", "2"] })));
    await expect.poll(kindOf(replicas), WAIT).toBe("failed");
    expect(seen(replicas)?.state).toMatchObject({
      reason: "it ended with 2: stand-in: last words",
      lastLines: ["stand-in: starting", "stand-in: last words"],
    });
  });

  test("a start that never succeeds is given up, and tried again on order", async () => {
    const replicas = await agent({ random: () => 0 });
    replicas.apply(plan(1, desired({ args: ["--exit-code", "1"] })));
    await expect.poll(kindOf(replicas), WAIT).toBe("failed");
    expect(seen(replicas)?.restarts).toBe(4);
    replicas.apply(plan(2, desired({ generation: 2 })));
    expect((await ready(replicas)).restarts).toBe(0);
  });

  test("B33 a start timeout ends the process, and more time begins a fresh start", async () => {
    const loaded = gatePath();
    const args = ["--loading-until", loaded];
    const replicas = await agent({ random: () => 0 });
    replicas.apply(plan(1, desired({ args, startTimeout: millis(600) })));
    await expect.poll(kindOf(replicas), { ...WAIT, timeout: 20_000 }).toBe("failed");
    expect(seen(replicas)?.state).toMatchObject({ reason: expect.stringMatching(/^start-timeout: /) as unknown });
    expect(await ours()).toEqual([]);
    await writeFile(loaded, "");
    replicas.apply(plan(2, desired({ args, startTimeout: millis(20_000) })));
    await ready(replicas);
  });

  test("B35 a health request that hangs does not end an engine that had proven itself", async () => {
    const first = await agent();
    first.apply(plan(1, desired({ args: ["--hang-health"] })));
    await expect.poll(() => readFile(logPath(), "utf8").catch(() => ""), WAIT).toContain("listening");
    await killAgent(first);
    const capacity = { slots: 3, context: 512 };
    await writeFile(recordPath(), serialiseLaunchRecord({ ...(await readRecord()), capacity }));
    const second = await agent();
    await expect.poll(() => second.supervisions[0]?.state, WAIT).toMatchObject({ kind: "ready", unanswered: 1 });
    expect(await ours()).toHaveLength(1);
  });
});

describe("stopping means all its processes", () => {
  test("B39 an engine that ignores SIGTERM is killed after the stop timeout, and its port is free", async () => {
    const replicas = await agent({ stopTimeout: millis(300) });
    replicas.apply(plan(1, desired({ args: ["--ignore-term"] })));
    await ready(replicas);
    replicas.apply(plan(2));
    expect(seen(replicas)?.state.kind).toBe("stopping");
    await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
    replicas.apply(plan(3, desired()));
    expect((await ready(replicas)).state).toMatchObject({ endpoint: { port: firstPort } });
  });

  test.each([
    { name: "that ends politely", args: ["--wrapped"] },
    { name: "that ignores SIGTERM", args: ["--wrapped", "--ignore-term"] },
  ])("B40 a shell around an engine $name does not leave it behind", async ({ args }) => {
    const replicas = await agent({ stopTimeout: millis(500) });
    replicas.apply(plan(1, desired({ args })));
    await ready(replicas);
    expect((await ours()).length).toBeGreaterThanOrEqual(2);
    replicas.apply(plan(2));
    await expect.poll(kindOf(replicas), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
  });

  test("workers of a killed engine are ended before it is started again", async () => {
    const replicas = await agent();
    replicas.apply(plan(1, desired({ args: ["--worker"] })));
    const { pid = 0 } = await ready(replicas);
    const workers = (await ours()).filter((stat) => stat.pid !== pid);
    expect(workers.length).toBeGreaterThan(0);
    process.kill(pid, "SIGKILL");
    await expect.poll(() => seen(replicas)?.restarts, WAIT).toBe(1);
    await ready(replicas);
    const left = new Set((await ours()).map((stat) => stat.pid));
    expect(workers.filter((stat) => left.has(stat.pid))).toEqual([]);
  });

  test("everything is stopped when the agent is told to leave nothing", async () => {
    const replicas = await agent();
    replicas.apply(plan(1, desired()));
    await ready(replicas);
    await replicas.stopAll();
    expect(await ours()).toEqual([]);
  });
});

describe("what an engine is given", () => {
  test("B31 a port that is taken is passed over", async () => {
    const stranger = await strangerOn(firstPort);
    const replicas = await agent();
    replicas.apply(plan(1, desired()));
    expect((await ready(replicas)).state).toMatchObject({ endpoint: { port: firstPort + 1 } });
    stranger.close();
  });

  test("no free port is said so, and tried again", async () => {
    const strangers = await Promise.all([0, 1, 2].map((n) => strangerOn(firstPort + n)));
    const replicas = await agent({ random: () => 0.01 });
    replicas.apply(plan(1, desired()));
    await expect
      .poll(() => seen(replicas)?.state, WAIT)
      .toMatchObject({ note: expect.stringContaining("engine_ports") as unknown });
    for (const stranger of strangers) stranger.close();
    await ready(replicas);
  });

  test("B32 and B41 nothing of the agent's environment reaches it, and no proxy is asked on the way", async () => {
    const proxied = {
      HTTP_PROXY: "http://127.0.0.1:9",
      http_proxy: "http://127.0.0.1:9",
      NODE_USE_ENV_PROXY: "1",
      VLLM_PORT: "41000",
    };
    Object.assign(process.env, proxied);
    try {
      const replicas = await agent();
      replicas.apply(plan(1, desired()));
      const { pid } = await ready(replicas);
      const environment = await readFile(`/proc/${String(pid)}/environ`, "utf8");
      for (const name of Object.keys(proxied)) expect(environment).not.toContain(name);
      expect(environment).toContain(LAUNCH_MARK);
    } finally {
      for (const name of Object.keys(proxied)) Reflect.deleteProperty(process.env, name);
    }
  });

  test("its key is in no argument that others can see", async () => {
    const replicas = await agent();
    replicas.apply(plan(1, desired()));
    const { pid } = await ready(replicas);
    expect(await readFile(`/proc/${String(pid)}/cmdline`, "utf8")).not.toContain("sk-engine");
  });

  test("without an address nothing is started, and why is said", async () => {
    const replicas = await agent({ address: () => undefined });
    replicas.apply(plan(1, desired()));
    await expect
      .poll(() => seen(replicas)?.state, WAIT)
      .toMatchObject({ note: expect.stringContaining("no address") as unknown });
  });
});
