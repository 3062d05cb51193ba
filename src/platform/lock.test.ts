import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test } from "vitest";
import { acquireLock } from "./lock.ts";
import { lookAtProcess, readBootId } from "./proc.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-lock-"));
afterAll(() => rm(root, { recursive: true, force: true }));

let path = "";
let count = 0;
beforeEach(async () => {
  const folder = join(root, String(count++));
  await mkdir(folder);
  path = join(folder, "agent.lock");
});

async function self(): Promise<{ pid: number; startTicks: number; bootId: string }> {
  const look = await lookAtProcess(process.pid);
  return {
    pid: process.pid,
    startTicks: look.kind === "there" ? look.stat.startTicks : 0,
    bootId: (await readBootId()) ?? "",
  };
}

test("the second one is told who holds it, and gets it after the release", async () => {
  const first = await acquireLock(path);
  expect(first.ok).toBe(true);
  expect(await acquireLock(path)).toEqual({ ok: false, error: { pid: process.pid } });
  if (first.ok) await first.value.release();
  const second = await acquireLock(path);
  expect(second.ok).toBe(true);
  if (second.ok) await second.value.release();
  expect(await readdir(join(path, ".."))).toEqual([]);
});

test.each([
  { name: "nobody has its owner's pid", owner: { pid: 2 ** 22 + 1 } },
  { name: "its owner's pid was given to a process started at another time", owner: { startTicks: 1 } },
  { name: "B21 the machine was started again since", owner: { bootId: "11111111-1111-1111-1111-111111111111" } },
])("taken over: $name", async ({ owner }) => {
  await writeFile(path, JSON.stringify({ ...(await self()), ...owner }));
  expect((await acquireLock(path)).ok).toBe(true);
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual(await self());
});

test.each(["", "{", "null", '{"pid":1}'])("taken over: content that no lock ever had, %j", async (content) => {
  await writeFile(path, content);
  expect((await acquireLock(path)).ok).toBe(true);
});

test("of many that find a stale lock at once, one gets it", async () => {
  await writeFile(path, JSON.stringify({ ...(await self()), pid: 2 ** 22 + 1 }));
  const answers = await Promise.all(Array.from({ length: 12 }, () => acquireLock(path)));
  expect(answers.filter(({ ok }) => ok)).toHaveLength(1);
  expect(await readdir(join(path, ".."))).toEqual(["agent.lock"]);
});
