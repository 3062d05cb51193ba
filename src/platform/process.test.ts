import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { hasEnded, listProcesses, lookAtProcess } from "./proc.ts";
import { type DetachedProcess, readExitStatus, signalGroup, spawnDetached } from "./process.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-process-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const statusPath = join(root, "status");
const logPath = join(root, "a", "engine.log");

async function start(argv: readonly [string, ...string[]], log = logPath): Promise<DetachedProcess> {
  const env = { PATH: "/usr/bin:/bin" };
  const started = await spawnDetached({ argv, env, cwd: root, logPath: log, statusPath });
  return started.ok ? started.value : expect.fail(started.error);
}

const living = async (group: number) =>
  (await listProcesses()).filter((stat) => stat.group === group && !hasEnded(stat)).map(({ pid }) => pid);

test("is in a session and a group of its own, and both outputs are in the file", async () => {
  const { pid, keeper, exited } = await start(["sh", "-c", "echo out; echo err >&2; sleep 60 & wait"]);
  expect(await lookAtProcess(pid)).toMatchObject({
    kind: "there",
    stat: { parent: keeper, group: keeper, session: keeper },
  });
  await expect.poll(() => readFile(logPath, "utf8")).toBe("out\nerr\n");
  expect(signalGroup(keeper, "SIGKILL")).toBe(true);
  await exited;
  // Where nobody asks for the end of orphans, they stay as zombies: nothing that lives is left either way.
  await expect.poll(() => living(keeper)).toEqual([]);
});

describe("how it ended is written down", () => {
  test.each([
    { name: "a status", script: "exit 3", status: { code: 3, signal: null } },
    { name: "no fault", script: "exit 0", status: { code: 0, signal: null } },
    { name: "the end of a program by a signal", script: "kill -9 $$", status: { code: null, signal: "SIGKILL" } },
    { name: "SIGQUIT is not ignored", script: "kill -3 $$; exit 0", status: { code: null, signal: "SIGQUIT" } },
    { name: "SIGINT is not ignored", script: "kill -2 $$; exit 0", status: { code: null, signal: "SIGINT" } },
  ])("$name", async ({ script, status }) => {
    const { exited } = await start(["sh", "-c", script]);
    await exited;
    expect(await readExitStatus(statusPath)).toEqual(status);
  });

  test("also after a signal to the whole group", async () => {
    const { keeper, exited, pid } = await start(["sleep", "60"]);
    signalGroup(keeper, "SIGTERM");
    await exited;
    expect(await readExitStatus(statusPath)).toEqual({ code: null, signal: "SIGTERM" });
    expect(await living(keeper)).not.toContain(pid);
  });

  test("nothing is known while it runs, nor of an earlier one", async () => {
    const first = await start(["true"]);
    await first.exited;
    expect(await readExitStatus(statusPath)).toEqual({ code: 0, signal: null });
    const second = await start(["sleep", "60"]);
    expect(await readExitStatus(statusPath)).toBeUndefined();
    signalGroup(second.keeper, "SIGKILL");
    await second.exited;
    expect(await readExitStatus(statusPath)).toBeUndefined();
  });
});

test("B37 arguments arrive as they are, and no word of the keeper's is in the log", async () => {
  const words = ['{"a": "b c"}', "$HOME", "", "'", "*"];
  const log = join(root, "words.log");
  const { exited } = await start(["sh", "-c", 'printf "<%s>" "$@"; kill -9 $$', "sh", ...words], log);
  await exited;
  expect(await readFile(log, "utf8")).toBe(words.map((word) => `<${word}>`).join(""));
});

test("a later start appends to the log of an earlier one", async () => {
  const log = join(root, "b.log");
  for (const word of ["one", "two"]) await (await start(["echo", word], log)).exited;
  expect(await readFile(log, "utf8")).toBe("one\ntwo\n");
});

test("a program that is not there is a reason, not a crash", async () => {
  const argv = [join(root, "nothing")] as const;
  const started = await spawnDetached({ argv, env: {}, cwd: root, logPath: join(root, "c.log"), statusPath });
  expect(started).toMatchObject({ ok: false });
  expect(!started.ok && started.error).toContain("ENOENT");
});
