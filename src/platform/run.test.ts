import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { readTextIfThere } from "./files.ts";
import { listProcesses } from "./proc.ts";
import { runProgram, type RunOutcome } from "./run.ts";

const env = { PATH: "/usr/bin:/bin" };
const long = millis(30_000);
let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-run-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

async function ended(script: string, options: { timeout?: number; signal?: AbortSignal } = {}): Promise<RunOutcome> {
  const { timeout = long, ...rest } = options;
  const outcome = await runProgram(["sh", "-c", script], { env, cwd: folder, timeout: millis(timeout), ...rest });
  if (outcome.kind !== "ended") throw new Error(outcome.message);
  return outcome;
}

describe("runProgram", () => {
  test("gives code and both outputs", async () => {
    expect(await ended("echo out; echo err >&2; exit 3")).toEqual({
      kind: "ended",
      code: 3,
      signal: null,
      stdout: "out\n",
      stderr: "err\n",
      timedOut: false,
    });
  });

  test("names the signal that ended it", async () => {
    expect(await ended("kill -ILL $$")).toMatchObject({ code: null, signal: "SIGILL" });
  });

  test("inherits nothing and is given no shell", async () => {
    process.env["LLMGW_RUN_TEST"] = "leak";
    const outcome = await runProgram(["env"], { env: { PATH: env.PATH, A: "$HOME; ls" }, timeout: long });
    delete process.env["LLMGW_RUN_TEST"];
    expect(outcome).toMatchObject({ stdout: `PATH=${env.PATH}\nA=$HOME; ls\n` });
  });

  test("keeps the end of an output that runs wild", async () => {
    const { stdout } = await ended("head -c 3000000 /dev/zero | tr '\\0' x; echo END");
    expect(stdout.length).toBe(1024 * 1024);
    expect(stdout.endsWith("END\n")).toBe(true);
  });

  test("on a timeout kills what the program left running too", async () => {
    const outcome = await ended("sleep 300 & echo $!; wait", { timeout: 300 });
    expect(outcome).toMatchObject({ timedOut: true, signal: "SIGKILL" });
    const grandchild = Number(outcome.stdout);
    await expect.poll(() => isRunning(grandchild)).toBe(false);
  });

  test("ends when the signal aborts, also when it had before the start", async () => {
    expect(await ended("sleep 300", { signal: AbortSignal.abort() })).toMatchObject({
      timedOut: false,
      signal: "SIGKILL",
    });
  });

  test("a missing program and one that may not be executed are answers", async () => {
    expect(await runProgram([join(folder, "none")], { env, timeout: long })).toMatchObject({
      kind: "notStarted",
      reason: "missing",
    });
    const plain = join(folder, "plain");
    await writeFile(plain, "text");
    await chmod(plain, 0o600);
    expect(await runProgram([plain], { env, timeout: long })).toMatchObject({
      kind: "notStarted",
      reason: "forbidden",
    });
  });

  test.each([
    { name: "an empty name", argv: [""] as const },
    { name: "a NUL in a word", argv: ["sh", "-c", "echo \0"] as const },
  ])("$name is an answer too", async ({ argv }) => {
    expect(await runProgram(argv, { env, timeout: long })).toMatchObject({ kind: "notStarted", reason: "other" });
  });

  test("B26 leaves no ended child that nobody asked for, whether it ended by itself or was killed", async () => {
    for (let cycle = 0; cycle < 50; cycle++) {
      const hangs = cycle % 5 === 4;
      const outcome = await ended(hangs ? "sleep 60 & wait" : "exit 3", hangs ? { timeout: 50 } : {});
      expect(outcome.timedOut).toBe(hangs);
    }
    const children = (await listProcesses()).filter(({ parent }) => parent === process.pid);
    expect(children.filter(({ state }) => state === "Z")).toEqual([]);
  });
});

/** A dead orphan stays a zombie where nobody reaps it, as in many containers. */
async function isRunning(pid: number): Promise<boolean> {
  const stat = await readTextIfThere(`/proc/${String(pid)}/stat`);
  return stat !== undefined && !stat.includes(") Z ");
}
