import { expect, test } from "vitest";
import {
  agent,
  desired,
  killAgent,
  kindOf,
  plan,
  readRecord,
  ready,
  seen,
  WAIT,
} from "../../test/fakes/replica-bench.ts";
import { THIS_MACHINE } from "./machine.ts";

class NoSpace extends Error {
  readonly code = "ENOSPC";
}

/** This machine, with a disk on which there is no room for what an engine has proven while it is full. */
function smallMachine() {
  const disk = { isFull: true };
  const writeFile: typeof THIS_MACHINE.writeFile = (...args) =>
    disk.isFull && String(args[1]).includes('"capacity"')
      ? Promise.reject(new NoSpace("no space left"))
      : THIS_MACHINE.writeFile(...args);
  return { disk, machine: { ...THIS_MACHINE, writeFile } };
}

test("what an engine has proven while the disk was full is written once there is room, and believed by the next agent", async () => {
  const { disk, machine } = smallMachine();
  const replicas = await agent({ machine });
  replicas.apply(plan(1, desired()));
  const { pid } = await ready(replicas);
  expect((await readRecord()).capacity).toBeUndefined();
  disk.isFull = false;
  await expect.poll(async () => (await readRecord()).capacity, WAIT).toBeDefined();
  await killAgent(replicas);
  const next = await agent({ machine });
  expect(kindOf(next)()).toBe("ready");
  expect(seen(next)?.pid).toBe(pid);
});
