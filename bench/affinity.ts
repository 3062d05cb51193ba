// npm run bench:affinity [-- --conversations N --turns N --model SOURCE] [--json]
// Conversations over shared system prompts at real llama-servers: what of the prompts the engines find in their caches, and
// how long the first token takes, with prefix affinity, when replicas take turns, with least-in-flight, and with a single
// replica that sees everything. Each has conversations of its own, so that none finds what another has left.
import { parseArgs } from "node:util";
import { profileName, replicaId } from "../src/core/ids.ts";
import type { ReplicaRoute } from "../src/core/route.ts";
import { silentLogger } from "../src/platform/logger.ts";
import { readEnvironment } from "../src/platform/proc.ts";
import type { RoutingPolicyName } from "../src/routing/policies.ts";
import { startRouter } from "../src/run/router.ts";
import { sampleSources } from "../src/run/sample.ts";
import { Site } from "../test/chaos/site.ts";
import { realLlamaServer } from "../test/e2e/real-engine.ts";
import { until } from "../test/e2e/wait.ts";
import { RouteSource } from "../test/fakes/router-harness.ts";
import { converse, type Guests, type Heard } from "./affinity-load.ts";
import { printTable } from "./router/tables.ts";

const { values: flags } = parseArgs({
  options: {
    conversations: { type: "string", default: "60" },
    turns: { type: "string", default: "8" },
    model: { type: "string", default: sampleSources(undefined).find((source) => source.startsWith("pypi:")) ?? "" },
    json: { type: "boolean", default: false },
  },
});
const REPLICAS = 3;
/** Of a slot. */
const CONTEXT = 2_048;
const guests: Guests = {
  ...{ conversations: Number(flags.conversations), turns: Number(flags.turns) },
  ...{ prompts: 6, atOnce: REPLICAS, answerTokens: 16 },
};

interface Engines {
  readonly name: string;
  readonly replicas: number;
  /** Conversations that an engine keeps in its memory at once. */
  readonly slots: number;
}

async function startEngines(site: Site, { name, replicas, slots }: Engines): Promise<readonly ReplicaRoute[]> {
  await site.apply({
    ...{ name, model: { source: flags.model }, replicas, context: slots * CONTEXT },
    args: ["-t", "1", "-np", String(slots)],
  });
  const ready = await until(
    "every replica to be ready",
    async () => {
      const all = (await site.replicas()).filter(({ id, state }) => state === "ready" && id.startsWith(`${name}-`));
      return all.length === replicas && all;
    },
    { timeoutMs: 300_000, seen: () => site.output() },
  );
  return Promise.all(
    ready.map(async ({ id, pid, endpoint }) => ({
      ...{ id: replicaId(id), host: endpoint?.host ?? "", port: endpoint?.port ?? 0, slots },
      apiKey: (await readEnvironment(pid ?? 0))["LLAMA_API_KEY"] ?? "",
    })),
  );
}

interface Router {
  readonly url: string;
  stop(): Promise<void>;
}

async function routerOver(replicas: readonly ReplicaRoute[], policy: RoutingPolicyName): Promise<Router> {
  const route = { name: "m", profile: profileName("m"), created: 1, waitingFor: "", waitSeconds: 0, replicas };
  const source = new RouteSource();
  source.push({ revision: 1, models: [route] });
  const listen = { host: "127.0.0.1", port: 0 };
  const router = await startRouter({ listen, transport: source.transport(), logger: silentLogger, policy });
  await until("routes", async () => (await fetch(`${router.url}/readyz`)).ok);
  return { url: router.url, stop: () => router.stop() };
}

/** Over one router, or over several in turn. */
async function over(salt: string, routers: readonly Router[]): Promise<Heard> {
  let turn = 0;
  const url = (): string => routers[turn++ % routers.length]?.url ?? "";
  const heard = await converse({ guests, salt, url });
  for (const router of routers) await router.stop();
  return heard;
}

/** All of them together have room for as many conversations as the one has, and a quarter more: no split is even. */
async function measure(site: Site): Promise<Readonly<Record<string, Heard>>> {
  const { conversations } = guests;
  const [all] = await startEngines(site, { name: "one", replicas: 1, slots: conversations });
  const slots = Math.ceil((conversations * 1.25) / REPLICAS);
  const replicas = await startEngines(site, { name: "several", replicas: REPLICAS, slots });
  const single = (replica: ReplicaRoute): Promise<Router> => routerOver([replica], "least-in-flight");
  return {
    "one replica that sees all": await over("Amber", [
      await routerOver(all === undefined ? [] : [all], "least-in-flight"),
    ]),
    "prefix-affinity": await over("Birch", [await routerOver(replicas, "prefix-affinity")]),
    "in turns": await over("Cedar", await Promise.all(replicas.map(single))),
    "least-in-flight": await over("Dusk", [await routerOver(replicas, "least-in-flight")]),
  };
}

const share = ({ cachedTokens, promptTokens }: Heard): number => cachedTokens / promptTokens;

const site = await Site.start(await realLlamaServer());
try {
  const all = await measure(site);
  const rows = Object.entries(all).map(([name, heard]) => [
    name,
    String(heard.promptTokens),
    `${(share(heard) * 100).toFixed(1)} %`,
    `${heard.firstP50.toFixed(0)} ms`,
    `${heard.firstP90.toFixed(0)} ms`,
  ]);
  printTable([
    [
      `${String(guests.conversations)} conversations of ${String(guests.turns)} turns`,
      ...["prompt tokens", "of them cached", "first token p50", "p90"],
    ],
    ...rows,
  ]);
  const ratio = (of: (heard: Heard) => number, to: string): number => {
    const [ours, theirs] = [all["prefix-affinity"], all[to]];
    return ours === undefined || theirs === undefined ? NaN : of(ours) / of(theirs);
  };
  const first = ({ firstP50 }: Heard): number => firstP50;
  const [cached, turns, least] = [
    ratio(share, "one replica that sees all"),
    ratio(first, "in turns"),
    ratio(first, "least-in-flight"),
  ];
  const targets = {
    "cached share, of one replica's that sees all": { value: cached, target: 0.9, ok: cached >= 0.9 },
    "first token p50, of that in turns": { value: turns, target: 1, ok: turns <= 1 },
    "first token p50, of least-in-flight's": { value: least, target: 1, ok: least <= 1 },
  };
  printTable([
    ["target", "value", "wanted", ""],
    ...Object.entries(targets).map(([name, { value, target, ok }]) => [
      name,
      value.toFixed(2),
      `${name.startsWith("cached") ? "≥" : "≤"} ${String(target)}`,
      ok ? "ok" : "MISSED",
    ]),
  ]);
  if (flags.json) console.log(JSON.stringify({ targets, all }));
  process.exitCode = Object.values(targets).every(({ ok }) => ok) ? 0 : 1;
} finally {
  await site.stop();
}
