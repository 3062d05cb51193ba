// node bench/workers.ts [--quick]: what a request costs in processor time with one process of a router and with two, in turn,
// in one run. Quote the ratio; single figures say more about the machine.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { millis, profileName, replicaId } from "../src/core/ids.ts";
import { listen } from "../src/platform/listen.ts";
import { RouterService } from "../src/wire/gen/llmgw/v1/router_pb.js";
import { routeTableToWire } from "../src/wire/routes.ts";
import { freePort } from "../test/e2e/cluster.ts";
import { llmgw, type Running } from "../test/e2e/process.ts";
import { until } from "../test/e2e/wait.ts";
import { quantile, run } from "./load.ts";

const isQuick = process.argv.includes("--quick");
const ROUNDS = isQuick ? 3 : 5;
const LOAD = { path: "/v1/chat/completions", connections: 64, durationMs: isQuick ? 1_500 : 4_000 };
const BODY = `{"model":"m","messages":[{"role":"user","content":"${"Hello. ".repeat(140)}"}],"max_tokens":16}`;
/** The kernel counts in hundredths of a second. */
const TICK_US = 10_000;

const folder = await mkdtemp(join(tmpdir(), "llmgw-bench-workers-"));
const engine = fork(join(import.meta.dirname, "engine.ts"), { stdio: ["ignore", "inherit", "inherit", "ipc"] });
const [{ port: enginePort }] = (await once(engine, "message")) as [{ port: number }];
const route = { id: replicaId("m-1"), host: "127.0.0.1", port: enginePort, apiKey: "ek", slots: 0 };
const model = { name: "m", profile: profileName("m"), created: 1, waitingFor: "", waitSeconds: 0, replicas: [route] };
const lastNumber = (lines: string): bigint =>
  BigInt(/"number":(\d+)/.exec(lines.slice(lines.lastIndexOf("\n") + 1))?.[1] ?? 0);

/** Gives out one table and takes all usage, as a control plane does. */
const handler = connectNodeAdapter({
  routes: ({ service }) => {
    service(RouterService, {
      async *session(requests) {
        yield { body: { case: "table" as const, value: routeTableToWire({ revision: 1, models: [model] }) } };
        for await (const { body } of requests) {
          if (body.case !== "usage") continue;
          const { instance, lines } = body.value;
          yield { body: { case: "usageAck" as const, value: { instance, through: lastNumber(lines) } } };
        }
      },
    });
  },
});
const control = await listen({ host: "127.0.0.1", port: 0, tls: undefined, handler });

interface Bench {
  readonly running: Running;
  readonly port: number;
}

async function start(workers: number): Promise<Bench> {
  const port = await freePort();
  const file = join(folder, `${String(workers)}.yaml`);
  const servers = [`http://127.0.0.1:${String(control.port)}`];
  await writeFile(file, JSON.stringify({ servers, listen: `127.0.0.1:${String(port)}`, workers, metrics_listen: "" }));
  const args = ["router", "-c", file, "--data-dir", join(folder, String(workers)), "--log-level", "warn"];
  const running = llmgw(args);
  await until("the routes", async () => (await fetch(`http://127.0.0.1:${String(port)}/readyz`)).ok, {
    seen: () => running.output(),
  });
  return { running, port };
}

/** Of a process and its children, in microseconds. */
async function cpuOf(pid: number): Promise<number> {
  const pids = (await readdir("/proc")).map(Number).filter((one) => one > 0);
  const stats = await Promise.all(pids.map((one) => readFile(`/proc/${String(one)}/stat`, "utf8").catch(() => "")));
  return stats.reduce((sum, stat, at) => {
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const isOurs = pids[at] === pid || Number(fields[1]) === pid;
    return isOurs ? sum + (Number(fields[11]) + Number(fields[12])) * TICK_US : sum;
  }, 0);
}

async function round({ running, port }: Bench): Promise<number> {
  const before = await cpuOf(running.pid);
  const { requests } = await run({ ...LOAD, port, body: BODY });
  return ((await cpuOf(running.pid)) - before) / requests;
}

const [one, two] = [await start(1), await start(2)];
const costs: { readonly one: number[]; readonly two: number[] } = { one: [], two: [] };
// The first round warms both up.
for (let n = 0; n <= ROUNDS; n++) {
  const [a, b] = [await round(one), await round(two)];
  if (n > 0) costs.one.push(a);
  if (n > 0) costs.two.push(b);
}
const [a, b] = [quantile(costs.one, 0.5), quantile(costs.two, 0.5)];
console.log(`processor time a request, median of ${String(ROUNDS)} rounds at 64 connections of 1 KB:`);
console.log(`  1 process   ${a.toFixed(0)} µs`);
console.log(`  2 processes ${b.toFixed(0)} µs, ${(b / a).toFixed(2)} times as much (target: at most 1.15)`);
for (const { running } of [one, two]) await running.end();
await control.close(millis(500));
engine.disconnect();
await rm(folder, { recursive: true });
