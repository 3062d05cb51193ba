import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { afterEach, expect, test } from "vitest";
import { hasEnded, lookAtProcess } from "./proc.ts";
import { stillRuns, thisStarted } from "./running.ts";

const started: number[] = [];
afterEach(() => {
  for (const pid of started.splice(0)) process.kill(-pid, "SIGKILL");
});

async function start(program: string, args: readonly string[]): Promise<{ pid: number; said: string }> {
  const child = spawn(program, args, { detached: true, stdio: ["ignore", "pipe", "ignore"] });
  started.push(child.pid ?? 0);
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  return { pid: child.pid ?? 0, said: chunk.toString() };
}

async function startTicksOf(pid: number): Promise<number> {
  const look = await lookAtProcess(pid);
  return look.kind === "there" ? look.stat.startTicks : 0;
}

test("this process runs", async () => {
  const self = await thisStarted();
  expect(self.startTicks).toBeGreaterThan(0);
  expect(await stillRuns(self)).toBe(true);
});

test("a process with the pid that was started at another time is another one", async () => {
  expect(await stillRuns({ pid: process.pid, startTicks: 1 })).toBe(false);
});

test("nobody has the pid", async () => {
  expect(await stillRuns({ pid: 2 ** 22 + 1, startTicks: 1 })).toBe(false);
});

test("B25 a zombie runs no more, although it answers signals", async () => {
  // It ends when its parent is a program that never asks for its end: the shell might.
  const ends = "until grep -q sleep /proc/$$/comm; do :; done";
  const { said } = await start("sh", ["-c", `(${ends}) & echo $!; exec sleep 60`]);
  const zombie = Number(said);
  await expect.poll(() => lookAtProcess(zombie)).toMatchObject({ kind: "there", stat: { state: "Z" } });
  expect(process.kill(zombie, 0)).toBe(true);
  expect(await stillRuns({ pid: zombie, startTicks: await startTicksOf(zombie) })).toBe(false);
});

/** Ends the first thread alone, by the system call that a C library keeps for itself. */
const FIRST_THREAD_ENDS = `
import ctypes, platform, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
print("up", flush=True)
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
`;

test("a process whose first thread has ended, and another has not, still runs", async (context) => {
  if (!hasPython()) context.skip("there is no python3 to start a process with threads by");
  const { pid } = await start("python3", ["-c", FIRST_THREAD_ENDS]);
  await expect.poll(() => lookAtProcess(pid)).toMatchObject({ kind: "there", stat: { state: "Z" } });
  const look = await lookAtProcess(pid);
  expect(look.kind === "there" && hasEnded(look.stat)).toBe(false);
  expect(await stillRuns({ pid, startTicks: await startTicksOf(pid) })).toBe(true);
});

function hasPython(): boolean {
  try {
    execFileSync("python3", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
