import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, expect } from "vitest";
import { parseLaunchRecord } from "../../src/agent/launch-record.ts";
import type { NodeContext } from "../../src/agent/node-context.ts";
import { PortBook } from "../../src/agent/port-book.ts";
import { Replicas } from "../../src/agent/replicas.ts";
import type { DesiredReplica, DesiredState } from "../../src/core/desired.ts";
import { millis, profileName, replicaId } from "../../src/core/ids.ts";
import type { ObservedReplica, ObservedReplicaState } from "../../src/core/observed.ts";
import { ok } from "../../src/core/result.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { silentLogger } from "../../src/platform/logger.ts";
import { findByEnvironment, hasEnded, lookAtProcess, type ProcessStat, readBootId } from "../../src/platform/proc.ts";
import type { LaunchRecord } from "../../src/reconcile/adopt.ts";
import { standIn } from "./stand-in.ts";

/** Of this test file; removed at its end. */
export const root = await mkdtemp(join(tmpdir(), "llmgw-replicas-"));
const bootId = (await readBootId()) ?? "";
afterAll(() => rm(root, { recursive: true, force: true }));

export const HOST = "127.0.0.1";
export const id = replicaId("chat-1");
export const WAIT = { timeout: 15_000, interval: 50 };

/** The first of `count` ports in a row that are free now, above where the kernel takes its own. */
export async function freePorts(count: number): Promise<number> {
  for (let first = 61_000 + Math.floor(Math.random() * 4000); ; first += count) {
    const all = Array.from({ length: count }, (_, n) => first + n);
    const free = await Promise.all(
      all.map(async (port) => {
        const probe = createTcp();
        return new Promise<boolean>((resolve) => {
          probe.once("error", () => {
            resolve(false);
          });
          probe.listen(port, HOST, () =>
            probe.close(() => {
              resolve(true);
            }),
          );
        });
      }),
    );
    if (free.every(Boolean)) return first;
  }
}

export let workDir = "";
export let firstPort = 0;
let count = 0;
const open: Replicas[] = [];
/** Of agents that have another than the test's own. */
const folders: string[] = [];
beforeEach(async () => {
  workDir = join(root, String(count++));
  firstPort = await freePorts(3);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((replicas) => replicas.detach()));
  for (const folder of [workDir, ...folders.splice(0)]) {
    for (const { pid } of await startedIn(folder)) process.kill(pid, "SIGKILL");
  }
});

const startedIn = (folder: string): Promise<readonly ProcessStat[]> =>
  findByEnvironment("LLMGW_REPLICA", `${folder}#${id}`);

/** Every process that any replica of the current test started, those that only wait for an engine's end left out. */
export const ours = async (): Promise<readonly ProcessStat[]> =>
  (await oursWithKeepers()).filter(({ pid, session }) => pid !== session);
export const oursWithKeepers = async (): Promise<readonly ProcessStat[]> =>
  (await startedIn(workDir)).toSorted((a, b) => a.pid - b.pid);

export const desired = (over: Partial<DesiredReplica> = {}): DesiredReplica => ({
  id,
  profile: profileName("chat"),
  specHash: "h1",
  serves: ["chat"],
  engine: "auto",
  model: { source: "file:/m.gguf", files: [], sha256: {} },
  context: undefined,
  args: [],
  env: {},
  gpus: [],
  apiKey: "sk-engine",
  startTimeout: millis(20_000),
  generation: 1,
  ...over,
});
export const plan = (revision: number, ...replicas: readonly DesiredReplica[]): DesiredState => ({
  revision,
  replicas,
  engines: {},
  weightsConcurrency: 1,
});

/** An agent's replicas without the agent. Several one after the other on one folder are restarts of it. */
export async function agent(over: Partial<NodeContext> = {}): Promise<Replicas> {
  if (over.workDir !== undefined) folders.push(over.workDir);
  const replicas = new Replicas(
    {
      clock: systemClock,
      random: () => 0.1,
      logger: silentLogger,
      workDir,
      bootId,
      prepare: () =>
        Promise.resolve(
          ok({
            engine: standIn,
            build: { name: "llama.cpp", version: "b1", origin: "configured", path: "stand-in", devices: [] },
            modelPath: "",
            files: [],
            folder: "",
          }),
        ),
      engineOf: () => standIn,
      ports: new PortBook({ first: firstPort, last: firstPort + 2 }),
      address: () => HOST,
      isLocal: () => true,
      stopTimeout: millis(5000),
      healthInterval: millis(100),
      logLines: 20,
      gpuHolders: () => Promise.resolve([]),
      ...over,
    },
    () => undefined,
  );
  open.push(replicas);
  await replicas.adopt();
  return replicas;
}

export const seen = (replicas: Replicas): ObservedReplica | undefined => replicas.observed.replicas[0];
export const kindOf = (replicas: Replicas) => (): ObservedReplicaState["kind"] | undefined =>
  seen(replicas)?.state.kind;

export async function ready(replicas: Replicas): Promise<ObservedReplica> {
  await expect.poll(kindOf(replicas), WAIT).toBe("ready");
  return seen(replicas) ?? expect.fail("gone");
}

/** Waits until nothing of the process is left, its ports given back too. */
export async function untilGone(pid: number): Promise<void> {
  const isGone = async (): Promise<boolean> => {
    const look = await lookAtProcess(pid);
    return look.kind === "gone" || (look.kind === "there" && hasEnded(look.stat));
  };
  await expect.poll(isGone, WAIT).toBe(true);
}

/** A file in no replica's folder, different in each test. */
export const gatePath = (): string => join(root, `gate-${String(count)}`);
export const logPath = (): string => join(workDir, "replicas", id, "engine.log");
export const recordPath = (): string => join(workDir, "replicas", id, "launch.json");
export const readRecord = async (): Promise<LaunchRecord> =>
  parseLaunchRecord(await readFile(recordPath(), "utf8")) ?? expect.fail("no record");

/** Leaves everything as a killed agent would. */
export async function killAgent(replicas: Replicas): Promise<void> {
  await replicas.detach();
  open.splice(open.indexOf(replicas), 1);
}

export async function strangerOn(port: number): Promise<Server> {
  const server = createServer((_, response) => response.end('{"status":"ok"}')).listen(port, HOST);
  await once(server, "listening");
  return server;
}
