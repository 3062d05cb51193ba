import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { usersOf } from "./folder-users.ts";

let base = "";
const started: number[] = [];
beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), "llmgw-users-"));
  await mkdir(join(base, "build"));
});
afterEach(async () => {
  for (const pid of started.splice(0)) process.kill(-pid, "SIGKILL");
  await rm(base, { recursive: true });
});

async function start(argv: readonly [string, ...string[]], cwd = "/"): Promise<number> {
  const [program, ...args] = argv;
  const child = spawn(program, args, { detached: true, cwd, stdio: ["ignore", "pipe", "ignore"] });
  await once(child, "spawn");
  started.push(child.pid ?? 0);
  return child.pid ?? 0;
}

const users = (): Promise<readonly number[] | "unknown"> => usersOf(join(base, "build"));

test("nobody, and a folder with a longer name is another one", async () => {
  await mkdir(join(base, "build.2"));
  await start(["sleep", "60"], join(base, "build.2"));
  expect(await users()).toEqual([]);
});

test("a program that lies in it", async () => {
  await copyFile("/bin/sleep", join(base, "build/engine"));
  const pid = await start([join(base, "build/engine"), "60"]);
  await expect.poll(users).toEqual([pid]);
});

test("a program elsewhere that is given a file in it, by way of a link to it", async () => {
  await writeFile(join(base, "build/run.sh"), "sleep 60 & wait\n");
  await symlink(join(base, "build"), join(base, "link"));
  const pid = await start(["sh", join(base, "build/run.sh")]);
  await expect.poll(() => usersOf(join(base, "build"))).toEqual([pid]);
  expect(await usersOf(join(base, "link"))).toEqual([pid]);
});

test("a process that works in it", async () => {
  const pid = await start(["sleep", "60"], join(base, "build"));
  await expect.poll(users).toEqual([pid]);
});
