// npm run bench:router [-- --quick] [--json] [--engine-port N --model NAME]
// What the router adds to an engine: the same load straight to the engine and through the router, in turn, in one run.
// Quote the ratios; single figures say more about the machine. With --engine-port a real engine on this machine is asked.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { RouterChild } from "../test/fakes/router-child.ts";
import { type Measured, quantile, run } from "./load.ts";

interface Scenario {
  readonly name: string;
  readonly connections: number;
  readonly body: string;
  /** Of one answer; 0 where events are not what costs. */
  readonly events: number;
}

const { values: flags } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    "engine-port": { type: "string" },
    model: { type: "string", default: "m" },
  },
});

const { model } = flags;
const prompt = (bytes: number): string =>
  "The quick brown fox jumps over the lazy dog. ".repeat(Math.ceil(bytes / 45)).slice(0, bytes);
const chat = (bytes: number, more = ""): string =>
  `{"model":"${model}","messages":[{"role":"user","content":"${prompt(bytes)}"}],"max_tokens":16${more}}`;

const SYNTHETIC: readonly Scenario[] = [
  { name: "64 connections, 1 KB", connections: 64, body: chat(1_000), events: 0 },
  { name: "1 connection, 1 KB", connections: 1, body: chat(1_000), events: 0 },
  { name: "16 connections, 32 KB", connections: 16, body: chat(32_000), events: 0 },
  { name: "200 streams, 10 ms", connections: 200, body: chat(1_000, ',"stream":true,"pace":10'), events: 66 },
  { name: "16 streams, flood", connections: 16, body: chat(1_000, ',"stream":true'), events: 66 },
];
const REAL: readonly Scenario[] = [
  { name: "1 connection", connections: 1, body: chat(200), events: 0 },
  { name: "1 stream", connections: 1, body: chat(200, ',"stream":true'), events: 0 },
  { name: "4 streams", connections: 4, body: chat(200, ',"stream":true'), events: 0 },
];

/** One round of one scenario. CPU is the router process's, in microseconds a request. */
interface Round {
  readonly direct: Measured;
  readonly routed: Measured;
  readonly cpu: number;
}

async function startEngine(): Promise<{ readonly port: number; stop(): void }> {
  const given = flags["engine-port"];
  if (given !== undefined) return { port: Number(given), stop: () => undefined };
  const child = fork(join(import.meta.dirname, "engine.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    port,
    stop: () => {
      child.disconnect();
    },
  };
}

async function round(scenario: Scenario, enginePort: number, router: RouterChild): Promise<Round> {
  const durationMs = flags.quick ? 800 : 3_000;
  const { connections, body } = scenario;
  const load = { path: "/v1/chat/completions", body, connections, durationMs };
  const direct = await run({ ...load, port: enginePort });
  const before = await router.usage();
  const routed = await run({ ...load, port: Number(new URL(router.url).port) });
  const after = await router.usage();
  return { direct, routed, cpu: (after.cpu - before.cpu) / routed.requests };
}

const median = (values: readonly number[]): number => quantile(values, 0.5);

function summarize(scenario: Scenario, rounds: readonly Round[]) {
  const of = (pick: (round: Round) => number): number => median(rounds.map(pick));
  const cpu = of((r) => r.cpu);
  return {
    scenario: scenario.name,
    direct: {
      perSecond: of((r) => r.direct.perSecond),
      p50: of((r) => r.direct.p50),
      p99: of((r) => r.direct.p99),
      firstByteP50: of((r) => r.direct.firstByteP50),
    },
    router: {
      perSecond: of((r) => r.routed.perSecond),
      p50: of((r) => r.routed.p50),
      p99: of((r) => r.routed.p99),
      firstByteP50: of((r) => r.routed.firstByteP50),
    },
    ratio: {
      perSecond: of((r) => r.routed.perSecond / r.direct.perSecond),
      p50: of((r) => r.routed.p50 / r.direct.p50),
      p99: of((r) => r.routed.p99 / r.direct.p99),
      firstByteP50: of((r) => r.routed.firstByteP50 / r.direct.firstByteP50),
    },
    cpuMicrosPerRequest: cpu,
    cpuMicrosPerEvent: scenario.events === 0 ? undefined : cpu / scenario.events,
    failures: rounds.reduce((sum, r) => sum + r.direct.failures + r.routed.failures, 0),
  };
}

type Summary = ReturnType<typeof summarize>;

function print(summaries: readonly Summary[]): void {
  const micros = (n: number): string => (n >= 10_000 ? `${(n / 1000).toFixed(1)} ms` : `${n.toFixed(0)} µs`);
  const rows = summaries.map((s) => [
    s.scenario,
    `${s.direct.perSecond.toFixed(0)} → ${s.router.perSecond.toFixed(0)} (${s.ratio.perSecond.toFixed(2)})`,
    `${micros(s.direct.p50)} → ${micros(s.router.p50)}`,
    `${micros(s.direct.p99)} → ${micros(s.router.p99)}`,
    `${micros(s.direct.firstByteP50)} → ${micros(s.router.firstByteP50)} (+${micros(s.router.firstByteP50 - s.direct.firstByteP50)})`,
    micros(s.cpuMicrosPerRequest) +
      (s.cpuMicrosPerEvent === undefined ? "" : `, ${s.cpuMicrosPerEvent.toFixed(1)} an event`),
  ]);
  const head = ["engine → router", "requests/s (ratio)", "p50", "p99", "first byte p50", "router CPU a request"];
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of [head, ...rows])
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    );
}

const engine = await startEngine();
const folder = await mkdtemp(join(tmpdir(), "llmgw-bench-"));
const router = await RouterChild.start({ [model]: [engine.port] }, join(folder, "access.log"));
const scenarios = flags["engine-port"] === undefined ? SYNTHETIC : REAL;
const rounds = new Map<Scenario, Round[]>(scenarios.map((scenario) => [scenario, []]));
// The first round warms up and is thrown away.
for (let n = 0; n <= (flags.quick ? 2 : 5); n++) {
  for (const [scenario, done] of rounds) {
    const result = await round(scenario, engine.port, router);
    if (n > 0) done.push(result);
  }
}
const { maxRss } = await router.usage();
const summaries = [...rounds].map(([scenario, done]) => summarize(scenario, done));
print(summaries);
console.log(`router memory, highest: ${(maxRss / 1024 / 1024).toFixed(0)} MiB; every request logged and counted`);
if (flags.json) console.log(JSON.stringify({ scenarios: summaries, routerMaxRssBytes: maxRss }));
await router.stop();
engine.stop();
await rm(folder, { recursive: true });
