import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  agent,
  desired,
  killAgent,
  kindOf,
  ours,
  plan,
  ready,
  seen,
  WAIT,
  workDir,
} from "../../test/fakes/replica-bench.ts";
import { SmallDisk } from "../../test/fakes/small-disk.ts";
import { workDirProblems } from "./discovery/work-dir.ts";

const anyText = (text: string): unknown => expect.stringContaining(text);
const NOT_WRITTEN = { state: { kind: "starting", note: anyText("nothing is started that cannot be written down") } };

let disk: SmallDisk | undefined;
beforeEach(async () => {
  disk = await SmallDisk.mount(workDir);
});
afterEach(() => disk?.unmount());

const fill = (): Promise<void> =>
  writeFile(join(workDir, "filler"), Buffer.alloc(2 * 1024 * 1024)).catch(() => undefined);

describe("a work_dir that is full", () => {
  test("is a reason; nothing is started, and everything once there is room again", async (t) => {
    if (disk === undefined) t.skip("no disk of its own");
    await fill();
    expect(await workDirProblems(workDir)).toEqual([anyText("is on a disk that is full")]);
    const replicas = await agent({ random: () => 0.1 });
    replicas.apply(plan(1, desired()));
    await expect.poll(() => seen(replicas), WAIT).toMatchObject(NOT_WRITTEN);
    // Far more often than an engine may fail.
    await expect.poll(() => replicas.supervisions[0]?.refusals ?? 0, WAIT).toBeGreaterThan(5);
    expect(await ours()).toEqual([]);
    await rm(join(workDir, "filler"));
    expect((await ready(replicas)).restarts).toBe(0);
    expect(await workDirProblems(workDir)).toEqual([]);
  });

  test("leaves what runs alone, and what it was told to stop is stopped", async (t) => {
    if (disk === undefined) t.skip("no disk of its own");
    const first = await agent();
    first.apply(plan(1, desired()));
    const { pid } = await ready(first);
    await fill();
    await killAgent(first);
    const second = await agent();
    second.apply(plan(1, desired()));
    expect(await ready(second)).toMatchObject({ pid, restarts: 0 });
    second.apply(plan(2));
    await expect.poll(kindOf(second), WAIT).toBe("stopped");
    expect(await ours()).toEqual([]);
  });
});

test("a work_dir that is read-only: what runs is taken over, its end is noticed, and no second copy is made", async (t) => {
  if (disk === undefined) t.skip("no disk of its own");
  const first = await agent();
  first.apply(plan(1, desired()));
  const { pid = 0 } = await ready(first);
  await killAgent(first);
  disk?.makeReadOnly();
  expect(await workDirProblems(workDir)).toEqual([anyText("is read-only")]);
  const second = await agent({ random: () => 0.1 });
  second.apply(plan(1, desired()));
  expect(await ready(second)).toMatchObject({ pid, restarts: 0 });
  process.kill(pid, "SIGKILL");
  await expect.poll(() => seen(second), WAIT).toMatchObject(NOT_WRITTEN);
  expect(await ours()).toEqual([]);
  disk?.makeWritable();
  expect((await ready(second)).restarts).toBe(1);
});
