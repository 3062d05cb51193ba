// npm run bench:router [-- --quick] [--json] [--only TEXT] [--engine-port N --model NAME]
// What stands between a client and an engine costs: the same loads on the engine itself, HAProxy, nginx, llmgw with everything
// on, and other gateways, in turn, in one run. Quote the ratios; single figures say more about the machine. With --engine-port a
// real engine on this machine is asked. docs/guide/router-speed.md tells how it measures.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { hold, run as runLoad } from "./load.ts";
import { type Contender, isPinned, LOAD_CORE } from "./router/contender.ts";
import { newKeys } from "./router/control.ts";
import { run } from "./router/debian.ts";
import { type Setting, startLlmgw } from "./router/llmgw.ts";
import { startHaproxy, startLitellm, startNginx, startPortkey, startPortkeyOnOurNode } from "./router/peers.ts";
import { cpuMicros, residentBytes } from "./router/proc.ts";
import {
  type ContenderName,
  IDLE_EVENTS,
  idleStreams,
  realScenarios,
  type Scenario,
  syntheticScenarios,
} from "./router/scenarios.ts";
import { printFeatures, printScenario, printTable, printTargets } from "./router/tables.ts";
import { ratioTargets, type Sample, type Target } from "./router/targets.ts";

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    only: { type: "string" },
    "engine-port": { type: "string" },
    model: { type: "string", default: "m" },
  },
});
const { model } = flags;
const isReal = flags["engine-port"] !== undefined;
const ROUNDS = flags.quick ? 3 : 5;
/** A compiler that learns from what runs needs tens of thousands of requests, in each process; a short round would measure it at that. */
const WARM_UP = { requests: 60_000, seconds: flags.quick ? 10 : 25 };
const IDLE_STREAMS = flags.quick ? 1_000 : 5_000;
const PATH = "/v1/chat/completions";

const folder = await mkdtemp(join(tmpdir(), "llmgw-bench-"));
process.once("exit", () => {
  rmSync(folder, { recursive: true, force: true });
});
const keys = newKeys(10);
const manyKeys = [...keys, ...newKeys(9_990)];

interface Engine {
  readonly port: number;
  stop(): void;
}

async function startEngine(): Promise<Engine> {
  const given = flags["engine-port"];
  if (given !== undefined) return { port: Number(given), stop: () => undefined };
  const child: ChildProcess = fork(join(import.meta.dirname, "engine.ts"), {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    port,
    stop: () => {
      child.disconnect();
    },
  };
}

const SETTINGS: Partial<Record<ContenderName, Setting>> = {
  llmgw: {},
  "llmgw (2 workers)": { config: { workers: 2 } },
  "llmgw (1000 replicas, 10000 keys)": {},
  "llmgw (no keys, no limits)": { config: { auth: "none" } },
  "llmgw (no prefix affinity)": { config: { policy: "least-in-flight" } },
  "llmgw (no access log)": { logLevel: "warn" },
  "llmgw (streams not counted)": { config: { count_streams: false } },
  "llmgw (no rescue)": { config: { rescue: "off" } },
};
const PEERS = {
  haproxy: startHaproxy,
  nginx: startNginx,
  portkey: startPortkey,
  "portkey (llmgw's Node)": startPortkeyOnOurNode,
  litellm: startLitellm,
} as const;

function start(name: ContenderName, enginePort: number): Promise<Contender> {
  if (name === "direct")
    return Promise.resolve({
      port: enginePort,
      headers: [],
      pids: () => Promise.resolve([]),
      stop: () => Promise.resolve(),
    });
  if (name in PEERS) return PEERS[name as keyof typeof PEERS]({ folder, enginePort, model });
  const isGrown = name === "llmgw (1000 replicas, 10000 keys)";
  const fleet = { model, enginePort, replicas: isGrown ? 1_000 : 3, keys: isGrown ? manyKeys : keys };
  return startLlmgw(folder, fleet, SETTINGS[name] ?? {});
}

async function sample(contender: Contender, { bodies, connections, seconds }: Scenario): Promise<Sample> {
  const { port, headers } = contender;
  const pids = await contender.pids();
  const shown = contender.keys ?? keys;
  const load = { port, path: PATH, bodies, keys: shown, headers, connections, durationMs: seconds * 1000 };
  const before = await cpuMicros(pids);
  const measured = await runLoad(load);
  return { ...measured, cpu: (await cpuMicros(pids)) - before };
}

async function warmUp(contender: Contender, all: readonly Scenario[]): Promise<void> {
  const deadline = performance.now() + WARM_UP.seconds * 1000;
  const wanted = WARM_UP.requests * (await contender.pids()).length;
  let asked = 0;
  // The first one has the most requests a second, the second is of streams, and the others are of the same kinds.
  for (const scenario of all.slice(0, 2)) {
    const { requests } = await sample(contender, { ...scenario, seconds: 2 });
    asked += requests;
  }
  while (all[0] !== undefined && asked < wanted && performance.now() < deadline) {
    const { requests } = await sample(contender, { ...all[0], seconds: 0.5 });
    asked += requests;
  }
}

/** Fresh programs that have served a little: what a heap has grown to under other loads would hide what streams take. */
async function idle(enginePort: number): Promise<Readonly<Record<string, Target>>> {
  const rows: string[][] = [];
  const found = new Map<ContenderName, Idle>();
  for (const name of ["haproxy", "nginx", "llmgw"] as const) {
    const contender = await start(name, enginePort).catch(() => undefined);
    if (contender === undefined) continue;
    const one = await idleOf(contender);
    await contender.stop();
    rows.push([name, `${one.kib.toFixed(1)} KiB`, `${(one.delivered * 100).toFixed(2)} %`, String(one.open)]);
    found.set(name, one);
  }
  printTable([
    [`${String(IDLE_STREAMS)} streams, 1 s`, "memory a stream", "events delivered", "open at once"],
    ...rows,
  ]);
  const ours = found.get("llmgw");
  const wereOpen = ours?.open === IDLE_STREAMS;
  return {
    "resident KiB an idle stream": { value: ours?.kib, target: 30, ok: wereOpen && ours.kib <= 30 },
    "events of idle streams delivered": { value: ours?.delivered, target: 1, ok: ours?.delivered === 1 },
  };
}

interface Idle {
  readonly kib: number;
  /** Of all events that the engine sent. */
  readonly delivered: number;
  readonly open: number;
}

async function idleOf(contender: Contender): Promise<Idle> {
  const { port, headers } = contender;
  // More would grow a heap that shrinks again while the streams are open, and take that from what they take.
  for (const scenario of syntheticScenarios(model, 1).slice(0, 2))
    await sample(contender, { ...scenario, seconds: 0.5 });
  const pids = await contender.pids();
  const bodies = idleStreams(model);
  const load = { port, path: PATH, bodies, keys, headers, connections: IDLE_STREAMS, durationMs: 0 };
  const { grownBytes, open, events, failures } = await hold(load, () => residentBytes(pids));
  const delivered = failures > 0 ? 0 : events / (IDLE_STREAMS * IDLE_EVENTS);
  return { kib: grownBytes / open / 1024, delivered, open };
}

/** Everything that measures is on one core, so that what is measured has the other. */
if (isPinned) await run("taskset", ["-a", "-p", "-c", String(LOAD_CORE), String(process.pid)]);
const engine = await startEngine();
const all = isReal ? realScenarios(model) : syntheticScenarios(model, flags.quick ? 0.3 : 1);
const scenarios = all.filter(({ name }) => flags.only === undefined || name.includes(flags.only));
const running = new Map<ContenderName, Contender>();
const skipped = new Map<ContenderName, string>();
const samples = new Map(scenarios.map(({ name }) => [name, new Map<ContenderName, Sample[]>()]));
for (const name of new Set(scenarios.flatMap(({ contenders }) => contenders))) {
  try {
    running.set(name, await start(name, engine.port));
  } catch (error) {
    skipped.set(name, String(error).split("\n")[0] ?? "");
    console.log(`${name} is skipped: ${String(error)}`);
  }
}
for (const contender of running.values()) await warmUp(contender, scenarios);
for (let round = 0; round < ROUNDS; round++) {
  for (const scenario of scenarios) {
    const done = samples.get(scenario.name);
    for (const name of scenario.contenders) {
      const contender = running.get(name);
      if (contender === undefined) continue;
      const one = await sample(contender, scenario);
      done?.set(name, [...(done.get(name) ?? []), one]);
    }
  }
}
for (const contender of running.values()) await contender.stop();
console.log(
  `medians of ${String(ROUNDS)} rounds in turn, ratios within each round${isPinned ? "" : "; one core for all: nothing was pinned"}`,
);
for (const scenario of scenarios) printScenario(scenario, samples);
printFeatures(samples);
const idleTargets = isReal || flags.only !== undefined ? {} : await idle(engine.port);
const targets = { ...ratioTargets(samples, skipped), ...idleTargets };
printTargets(targets);
engine.stop();
/** What was not measured stays in sight: as null. */
const written = (_: string, value: unknown): unknown => value ?? null;
if (flags.json) console.log(JSON.stringify({ targets }, written));
