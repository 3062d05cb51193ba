import { describe, expect, test } from "vitest";
import { quiesce, SimClock } from "../../test/sim/sim-clock.ts";
import { bytes, gpuUuid } from "../core/ids.ts";
import type { MeasuredMemory } from "../core/measured-memory.ts";
import { followMemory, isNews, measureMemory } from "./memory-watch.ts";

const MiB = 2 ** 20;
const GPU = gpuUuid("GPU-a");
const holds = (host: number, ...gpus: number[]): MeasuredMemory => ({
  host: bytes(host * MiB),
  gpus: gpus.map((held) => ({ uuid: GPU, bytes: bytes(held * MiB) })),
});

describe("news", () => {
  test.each([
    { name: "the first", before: undefined, now: holds(1), want: true },
    { name: "the same", before: holds(1000, 5000), now: holds(1000, 5000), want: false },
    { name: "a little more on a large one", before: holds(1000, 5000), now: holds(1015, 5090), want: false },
    { name: "a little more on a small one", before: holds(10), now: holds(17), want: false },
    { name: "more on the host", before: holds(1000, 5000), now: holds(1030, 5000), want: true },
    { name: "more on a GPU", before: holds(1000, 5000), now: holds(1000, 5200), want: true },
    { name: "less", before: holds(1000), now: holds(900), want: true },
    { name: "the driver does not tell any more", before: holds(1000, 5000), now: holds(1000), want: true },
  ])("$name", ({ before, now, want }) => {
    expect(isNews(before, now)).toBe(want);
  });
});

describe("one look", () => {
  const memoryOf = (pid: number) => (pid === 9 ? undefined : { own: pid, files: 100, shared: 1 });
  const gpuUse = () => Promise.resolve([{ uuid: GPU, bytes: bytes(7) }]);

  test.each([
    { name: "on the CPU what is mapped counts", pids: [10, 11], gpus: [], want: { host: 122, gpus: [] } },
    {
      name: "on a GPU it does not",
      pids: [10],
      gpus: [GPU],
      want: { host: 11, gpus: [{ uuid: GPU, bytes: 7 }] },
    },
    { name: "one that has just ended is left out", pids: [9, 10], gpus: [], want: { host: 111, gpus: [] } },
    { name: "nothing runs", pids: [], gpus: [], want: undefined },
    { name: "nothing can be asked", pids: [9], gpus: [], want: undefined },
  ])("$name", async ({ pids, gpus, want }) => {
    expect(await measureMemory(pids, gpus, { memoryOf, gpuUse })).toEqual(want);
  });
});

describe("following an engine", () => {
  const following = () => {
    const time = new SimClock();
    const told: MeasuredMemory[] = [];
    const engine = { ready: false, over: false, looks: 0, now: holds(100) as MeasuredMemory | undefined };
    const controller = new AbortController();
    const target = {
      isReady: () => engine.ready,
      isOver: () => engine.over,
      measure: () => {
        engine.looks += 1;
        return engine.now === undefined ? Promise.reject(new Error("no /proc")) : Promise.resolve(engine.now);
      },
    };
    const { clock } = time.lifetime({ offset: 0 });
    const done = followMemory(target, (memory) => told.push(memory), { clock, signal: controller.signal });
    return {
      pause: () => (time.next ?? 0) - time.now,
      tick: () => {
        time.runNext();
        return quiesce();
      },
      told,
      engine,
      done,
      stop: () => {
        controller.abort();
      },
    };
  };

  test("one that still loads is not measured, nor one that has only just become ready", async () => {
    const { tick, told, engine, stop, done } = following();
    await tick();
    engine.ready = true;
    await tick();
    expect(engine.looks).toBe(0);
    await tick();
    expect(told).toEqual([holds(100)]);
    stop();
    await done;
  });

  test("what has not changed is told once; then it is looked at more seldom", async () => {
    const { tick, told, engine, pause, stop, done } = following();
    engine.ready = true;
    const first = pause();
    for (let turn = 0; turn < 4; turn++) await tick();
    engine.now = holds(300);
    await tick();
    expect(told).toEqual([holds(100), holds(300)]);
    expect(pause()).toBeGreaterThan(first);
    stop();
    await done;
  });

  test("a machine that cannot be asked is asked again", async () => {
    const { tick, told, engine, stop, done } = following();
    [engine.ready, engine.now] = [true, undefined];
    for (let turn = 0; turn < 3; turn++) await tick();
    engine.now = holds(100);
    await tick();
    expect(told).toEqual([holds(100)]);
    stop();
    await done;
  });

  test("it ends with its launch", async () => {
    const { tick, engine, done } = following();
    engine.over = true;
    await tick();
    await done;
    expect(engine.looks).toBe(0);
  });
});
