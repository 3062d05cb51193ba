// npm run bench:agent [-- --json] [--seconds N]
// What an agent costs a node: its memory and processor time at rest, with 4 real engines and a control plane it is connected to,
// and how long it takes to find 16 engines again. The 16 are stand-ins that compute nothing: what is timed is the agent. All
// agents start with Node's compile cache full, as each but the first one on a machine does.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { serialiseLaunchRecord } from "../src/agent/launch-record.ts";
import { millis, profileName, replicaId } from "../src/core/ids.ts";
import { freeLoopbackPort } from "../src/platform/free-port.ts";
import { lookAtProcess, readBootId } from "../src/platform/proc.ts";
import { spawnDetached } from "../src/platform/process.ts";
import { llmgw, type Running } from "../test/e2e/process.ts";
import { until } from "../test/e2e/wait.ts";
import { PROFILE, Site } from "../test/chaos/site.ts";
import { realLlamaServer } from "../test/e2e/real-engine.ts";
import { bareNode, usageOf } from "./usage.ts";

const { values: flags } = parseArgs({
  options: { json: { type: "boolean", default: false }, seconds: { type: "string", default: "40" } },
});
const TICKS_PER_SECOND = 100;
const bootId = (await readBootId()) ?? "";
const dir = await mkdtemp(join(tmpdir(), "llmgw-bench-agent-"));
const keepers: number[] = [];

/** A process that an agent takes for a ready engine of its own: started as an agent starts one, and written down. */
async function standIn(n: number): Promise<void> {
  const folder = join(dir, "node", "agent", "replicas", `bench-${String(n)}`);
  const launchId = `bench-${String(n)}-${String(process.pid)}`;
  const spawned = await spawnDetached({
    argv: ["/bin/sh", "-c", "exec sleep 600"],
    env: { PATH: "/usr/bin:/bin", LLMGW_LAUNCH_ID: launchId },
    cwd: dir,
    logPath: join(folder, "engine.log"),
    statusPath: join(folder, "exit-status"),
  });
  if (!spawned.ok) throw new Error(spawned.error);
  const { pid, keeper } = spawned.value;
  keepers.push(keeper);
  const record = serialiseLaunchRecord({
    ...{ launchId, bootId, process: await refOf(pid), keeper: await refOf(keeper), cgroups: [] },
    hashes: { argv: "", env: "" },
    replica: {
      ...{ id: replicaId(`bench-${String(n)}`), profile: profileName("bench"), specHash: "h", serves: ["bench"] },
      ...{
        engine: "llama.cpp",
        model: { source: "tiny:", files: [], sha256: {} },
        context: undefined,
        args: [],
        env: {},
      },
      ...{ gpus: [], apiKey: "sk-bench", startTimeout: millis(60_000), generation: 1 },
    },
    endpoint: { host: "127.0.0.1", port: 41_000 + n },
    probeHost: "127.0.0.1",
    engine: { name: "llama.cpp", version: "bench" },
    ...{ capacity: { slots: 1, context: 512 }, launches: 1, logOffset: 0, startedAt: millis(Date.now()) },
  });
  await writeFile(join(folder, "launch.json"), record, { mode: 0o600 });
}

async function refOf(pid: number) {
  const look = await lookAtProcess(pid);
  return { pid, startTicks: look.kind === "there" ? look.stat.startTicks : 0 };
}

/** Starts an agent and waits until it has said of each engine that it took it over. */
async function startAgent(engines: number): Promise<{ readonly agent: Running; readonly adoptedWithinMs: number }> {
  const agent = llmgw([
    "agent",
    "-c",
    join(dir, "agent.yaml"),
    "--data-dir",
    join(dir, "node"),
    "--log-format",
    "json",
  ]);
  const times = () =>
    agent
      .output()
      .split("\n")
      .filter((line) => line.includes("adopted the engine"))
      .map((line) => Date.parse((JSON.parse(line) as { time: string }).time));
  await until("the engines", () => times().length >= engines, { seen: () => agent.output() });
  const start = await lookAtProcess(agent.pid);
  const uptime = Number((await readFile("/proc/uptime", "utf8")).split(" ")[0]);
  const ticks = start.kind === "there" ? start.stat.startTicks : 0;
  const startedAt = Date.now() - (uptime - ticks / TICKS_PER_SECOND) * 1000;
  return { agent, adoptedWithinMs: Math.max(...times()) - startedAt };
}

async function endEngines(): Promise<void> {
  for (const keeper of keepers.splice(0)) process.kill(-keeper, "SIGKILL");
  await rm(join(dir, "node"), { recursive: true, force: true });
}

/** What an agent does at its start is no rest, and V8 tidies up what that left half a minute later. */
const SETTLED_AFTER_MS = 40_000;
const ENGINES = 4;

/** Once as the agent that started the engines, once as one that took them over: most agents of a fleet are of the second kind. */
async function rest(seconds: number) {
  const site = await Site.start(await realLlamaServer(), [
    `metrics_listen: "127.0.0.1:${String(await freeLoopbackPort())}"`,
  ]);
  try {
    await site.apply({ name: PROFILE, model: { source: "tiny:" }, replicas: ENGINES, context: 512, args: ["-t", "1"] });
    const ready = async (): Promise<boolean> => {
      const replicas = await site.replicas();
      return replicas.length === ENGINES && replicas.every(({ state }) => state === "ready");
    };
    await until("the engines", ready, { seen: () => site.output() });
    const starter = await atRest(site, seconds);
    await site.agent?.end("SIGKILL");
    site.startAgent();
    await until("the engines again", ready, { seen: () => site.output() });
    return { starter, heir: await atRest(site, seconds) };
  } finally {
    await site.stop();
  }
}

async function atRest(site: Site, seconds: number) {
  const pid = site.agent?.pid ?? 0;
  await sleep(SETTLED_AFTER_MS);
  const before = await usageOf(pid);
  await sleep(seconds * 1000);
  const after = await usageOf(pid);
  const share = (after.cpuMs - before.cpuMs) / (seconds * 1000);
  const { rssBytes, fileBytes } = after;
  return { rssBytes, fileBytes, coreShare: share, cpuSecondsPerHour: share * 3600 };
}

async function adoption() {
  for (let n = 0; n < 16; n++) await standIn(n);
  const { agent, adoptedWithinMs } = await startAgent(16);
  await agent.end();
  await endEngines();
  return { engines: 16, sinceProcessStartMs: adoptedWithinMs };
}

const mib = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

function printRest(
  who: string,
  { rssBytes, fileBytes, coreShare, cpuSecondsPerHour }: Awaited<ReturnType<typeof atRest>>,
): void {
  console.log(
    `${who}: memory ${mib(rssBytes)} (target 90), ${mib(fileBytes)} of it pages of Node's program, shared with other Nodes`,
  );
  console.log(
    `  CPU ${cpuSecondsPerHour.toFixed(1)} s an hour, ${(coreShare * 100).toFixed(2)} % of a core (target 0.5)`,
  );
}

try {
  await writeFile(join(dir, "agent.yaml"), 'server: "http://127.0.0.1:9"\nnode_id: bench\nmetrics_listen: ""\n');
  const result = { bareNode: await bareNode(), rest: await rest(Number(flags.seconds)), adoption: await adoption() };
  console.log(`a Node that runs nothing: memory ${mib(result.bareNode.rssBytes)}`);
  console.log(`at rest with ${String(ENGINES)} engines`);
  printRest("the agent that took them over", result.rest.heir);
  printRest("the agent that started them", result.rest.starter);
  console.log(
    `16 engines taken over ${result.adoption.sinceProcessStartMs.toFixed(0)} ms after the process began (target 1000)`,
  );
  if (flags.json) console.log(JSON.stringify(result));
} finally {
  await endEngines();
  await rm(dir, { recursive: true, force: true });
}
