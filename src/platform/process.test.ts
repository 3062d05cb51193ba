import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { hasEnded, listProcesses, lookAtProcess } from "./proc.ts";
import { signalGroup, spawnDetached } from "./process.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-process-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const env = { PATH: "/usr/bin:/bin" };

test("leads a session and a group of its own, and both outputs are in the file", async () => {
  const logPath = join(root, "a", "engine.log");
  const script = "echo out; echo err >&2; sleep 60 & wait";
  const started = await spawnDetached({ argv: ["sh", "-c", script], env, cwd: root, logPath });
  if (!started.ok) throw new Error(started.error);
  const { pid, exited } = started.value;
  expect(await lookAtProcess(pid)).toMatchObject({ kind: "there", stat: { group: pid, session: pid } });
  await expect.poll(() => readFile(logPath, "utf8")).toBe("out\nerr\n");
  expect(signalGroup(pid, "SIGKILL")).toBe(true);
  expect(await exited).toEqual({ code: null, signal: "SIGKILL" });
  // Where nobody asks for the end of orphans, they stay as zombies: nothing that lives is left either way.
  const alive = async () => (await listProcesses()).filter((stat) => stat.group === pid && !hasEnded(stat));
  await expect.poll(alive).toEqual([]);
});

test("a later start appends to the log of an earlier one", async () => {
  const logPath = join(root, "b.log");
  for (const word of ["one", "two"]) {
    const started = await spawnDetached({ argv: ["echo", word], env, cwd: root, logPath });
    if (started.ok) await started.value.exited;
  }
  expect(await readFile(logPath, "utf8")).toBe("one\ntwo\n");
});

test("a program that is not there is a reason, not a crash", async () => {
  const argv = [join(root, "nothing")] as const;
  const started = await spawnDetached({ argv, env, cwd: root, logPath: join(root, "c.log") });
  expect(started).toMatchObject({ ok: false });
  expect(!started.ok && started.error).toContain("ENOENT");
});
