import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { rayCases } from "../../src/engines/golden/cases.ts";
import type { EngineCommand } from "../../src/engines/engine.ts";
import { vllm } from "../../src/engines/vllm/index.ts";
import { type RayStandIn, rayStandIn } from "../fakes/ray-stand-in.ts";

let standIn: RayStandIn | undefined;
const running = new Set<number>();
afterEach(async () => {
  for (const pid of running) process.kill(-pid, "SIGKILL");
  running.clear();
  await standIn?.remove();
});

function commandOf(name: string, { ray, engine }: RayStandIn): EngineCommand {
  const found = rayCases({ binary: engine, version: "0.33.0" }).find((one) => one.name === name);
  if (found === undefined) throw new Error(`no case ${name}`);
  return vllm.command({
    ...found.launch,
    nodeOptions: { ray_bin: ray },
    workDir: `/tmp/llmgw-test-${String(process.pid)}`,
  });
}

/** As the agent starts it: in a process group of its own. */
function start({ argv: [file, ...args], env }: EngineCommand) {
  const child = spawn(file, args, { env, detached: true, stdio: "ignore" });
  const { pid } = child;
  if (pid === undefined) throw new Error("not started");
  running.add(pid);
  const ended = once(child, "exit").then(([code, signal]) => {
    running.delete(pid);
    return { code: code as number | null, signal: signal as string | null };
  });
  return { pid, ended };
}

const rayIsStarted = (of: RayStandIn): Promise<void> =>
  expect.poll(async () => (await of.calls()).map(([, verb]) => verb), { timeout: 20_000 }).toContain("start");

const folderOf = (command: EngineCommand): string =>
  command.argv.find((arg) => arg.startsWith("/tmp/llmgw-ray-")) ?? "";

describe("the head of a cluster", () => {
  test.each([0, 3])("starts Ray, waits for it, runs the engine and ends with its status %i", async (status) => {
    standIn = await rayStandIn({ engineStatus: status });
    const command = commandOf("ray-head", standIn);
    expect(await start(command).ended).toEqual({ code: status, signal: null });
    const calls = await standIn.calls();
    expect(calls.filter(([, verb]) => verb === "health-check")).toHaveLength(2);
    const start_ = calls.find(([, verb]) => verb === "start");
    expect(start_?.slice(2)).toEqual([
      "--head",
      "--block",
      expect.stringMatching(/^--temp-dir=\/tmp\/llmgw-ray-/),
      "--port=41900",
      "--node-ip-address=10.0.0.11",
      "--num-gpus=4",
      "--disable-usage-stats",
      "--include-dashboard=false",
    ]);
    expect(calls.at(-1)?.slice(0, 3)).toEqual(["vllm", "serve", "/w/Qwen3-32B"]);
    expect(existsSync(folderOf(command))).toBe(false);
  });

  test("a signal to the group ends all of it", async () => {
    standIn = await rayStandIn();
    const { pid, ended } = start(commandOf("ray-head", standIn));
    await rayIsStarted(standIn);
    process.kill(-pid, "SIGTERM");
    const { code } = await ended;
    expect(code).not.toBeNull();
  });
});

test("a worker waits for the head, runs Ray, and ends as Ray does", async () => {
  standIn = await rayStandIn();
  const command = commandOf("ray-worker", standIn);
  const { pid, ended } = start(command);
  await rayIsStarted(standIn);
  const calls = await standIn.calls();
  expect(calls.at(-1)?.slice(1)).toEqual([
    "start",
    "--block",
    expect.stringMatching(/^--temp-dir=\/tmp\/llmgw-ray-/),
    "--address=10.0.0.11:41900",
    "--node-ip-address=10.0.0.12",
    "--num-gpus=4",
    "--disable-usage-stats",
  ]);
  process.kill(-pid, "SIGTERM");
  expect(await ended).toEqual({ code: 128 + constants.signals.SIGTERM, signal: null });
  expect(existsSync(folderOf(command))).toBe(false);
});

test("a worker that waits for a head ends when it is told to", async () => {
  standIn = await rayStandIn({ answers: false });
  const command = commandOf("ray-worker", standIn);
  const { pid, ended } = start(command);
  await expect.poll(async () => (await standIn?.calls())?.length, { timeout: 20_000 }).toBeGreaterThan(1);
  process.kill(-pid, "SIGTERM");
  expect(await ended).toEqual({ code: 128 + constants.signals.SIGTERM, signal: null });
  expect(existsSync(folderOf(command))).toBe(false);
});
