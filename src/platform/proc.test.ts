import { spawn } from "node:child_process";
import { once } from "node:events";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { findByEnvironment, hasEnded, lookAtProcess, parseProcessStat, readBootId } from "./proc.ts";

const line = (name: string): string =>
  `4242 (${name}) S 1 4242 4241 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 987654 1000 200 18446744073709551615 0 0\n`;

describe("parseProcessStat", () => {
  test.each(["llama-server", "a) S 1 (b", "two words", ")", "(", "VLLM::Worker) Z 9", ""])(
    "a program called %j",
    (name) => {
      expect(parseProcessStat(line(name))).toEqual({
        pid: 4242,
        state: "S",
        parent: 1,
        group: 4242,
        session: 4241,
        threads: 1,
        startTicks: 987_654,
      });
    },
  );

  test.each(["", "4242", "4242 (x", "4242 (x) S 1 2", "x (y) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"])(
    "no line of a stat file: %j",
    (text) => {
      expect(parseProcessStat(text)).toBeUndefined();
    },
  );

  test("never throws", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        parseProcessStat(text);
      }),
    );
  });
});

test.each([
  { name: "one that runs", state: "R", threads: 1, ended: false },
  { name: "one that waits for a device", state: "D", threads: 1, ended: false },
  { name: "one whose end nobody has asked for yet", state: "Z", threads: 1, ended: true },
  { name: "one whose first thread has ended, but not the others", state: "Z", threads: 7, ended: false },
])("$name", ({ state, threads, ended }) => {
  expect(hasEnded({ pid: 1, parent: 0, group: 1, session: 1, startTicks: 1, state, threads })).toBe(ended);
});

describe("real processes", () => {
  const started: number[] = [];
  afterEach(() => {
    for (const pid of started.splice(0)) process.kill(-pid, "SIGKILL");
  });

  function start(script: string, env: Record<string, string> = {}) {
    const child = spawn("sh", ["-c", script], {
      env: { PATH: "/usr/bin:/bin", ...env },
      detached: true,
      stdio: ["ignore", "pipe", "ignore"],
    });
    started.push(child.pid ?? 0);
    return child;
  }

  test("this process is there, and its start is known", async () => {
    const look = await lookAtProcess(process.pid);
    expect(look).toMatchObject({ kind: "there", stat: { pid: process.pid } });
    expect(look.kind === "there" && look.stat.startTicks).toBeGreaterThan(0);
  });

  test("a pid that nobody has is gone", async () => {
    expect(await lookAtProcess(2 ** 22 + 1)).toEqual({ kind: "gone" });
  });

  test("B25 a zombie is seen as one, although it answers signals", async () => {
    // It ends when the shell is one no more: a shell may ask for its end.
    const child = start('until [ "$(cat /proc/$$/comm)" = sleep ]; do sleep 0.02; done & echo $!; exec sleep 60');
    const [chunk] = (await once(child.stdout, "data")) as [Buffer];
    const zombie = Number(chunk.toString());
    await expect.poll(async () => lookAtProcess(zombie)).toMatchObject({ kind: "there", stat: { state: "Z" } });
    expect(process.kill(zombie, 0)).toBe(true);
  });

  test("a process is found by what its environment holds, and only by the whole of it", async () => {
    const mark = `mark-${String(process.pid)}-${String(performance.now())}`;
    const child = start("echo up; exec sleep 60", { LLMGW_TEST_MARK: mark });
    await once(child.stdout, "data");
    await expect
      .poll(async () => (await findByEnvironment("LLMGW_TEST_MARK", mark)).map(({ pid }) => pid))
      .toEqual([child.pid]);
    expect(await findByEnvironment("LLMGW_TEST_MARK", mark.slice(0, -1))).toEqual([]);
    expect(await findByEnvironment("TEST_MARK", mark)).toEqual([]);
  });

  test("the boot has an id", async () => {
    expect(await readBootId()).toMatch(/^[0-9a-f-]{36}$/);
  });
});
