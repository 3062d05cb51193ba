import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { freePort } from "./cluster.ts";
import { finished, llmgw, type Running } from "./process.ts";
import { until } from "./wait.ts";

/** The names that others may rely on, with their labels. */
const PROMISED: Readonly<Record<string, readonly string[]>> = {
  llmgw_router_requests_total: ["model", "code"],
  llmgw_router_in_flight: ["model"],
  llmgw_router_time_to_first_token_seconds: ["model"],
  llmgw_router_time_per_output_token_seconds: ["model"],
  llmgw_router_request_duration_seconds: ["model"],
  llmgw_router_overhead_seconds: ["model"],
  llmgw_router_tokens_total: ["model", "kind"],
  llmgw_router_retries_total: ["reason"],
  llmgw_router_streams_cut_total: ["reason"],
  llmgw_router_queue_depth: ["model"],
  llmgw_nodes: ["state"],
  llmgw_replicas: ["profile", "state"],
  llmgw_gpus: ["state"],
  llmgw_gpu_memory_bytes: ["kind"],
  llmgw_weights_bytes_total: ["source"],
  llmgw_rollouts_total: ["outcome"],
};

interface Listed {
  readonly type: string;
  readonly labels: readonly string[];
}
type Names = ReadonlyMap<string, Listed>;

/** The tables of the reference page, by the part that reports them. */
async function reference(): Promise<Readonly<Record<string, Names>>> {
  const text = await readFile(resolve(import.meta.dirname, "../../docs/reference/metrics.md"), "utf8");
  const sections = text.split(/^## /m).slice(1);
  return Object.fromEntries(sections.map((section) => [section.split("\n", 1)[0] ?? "", tableOf(section)] as const));
}

function tableOf(section: string): Names {
  const rows = section.matchAll(/^\| `(\S+)` +\| (\w+) +\| ([^|]*?) +\|/gm);
  return new Map(
    [...rows].map(([, name = "", type = "", labels = ""]) => [
      name,
      { type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label = ""]) => label) },
    ]),
  );
}

interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Page {
  readonly types: Readonly<Record<string, string>>;
  readonly samples: readonly Sample[];
}

async function scrape(port: number): Promise<Page> {
  const response = await fetch(`http://127.0.0.1:${String(port)}/metrics`);
  expect(response.headers.get("content-type")).toContain("text/plain");
  const text = await response.text();
  const types = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = "", type = ""]) => [name, type] as const);
  const histograms = new Set(types.flatMap(([name, type]) => (type === "histogram" ? [name] : [])));
  const samples = [...text.matchAll(/^(llmgw_\w+)(?:\{(.*)\})? \S+$/gm)].map(([, series = "", list = ""]) => {
    const whole = series.replace(/_(?:bucket|sum|count)$/, "");
    const pairs = [...list.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label = "", value = ""]) => [label, value]);
    const labels = Object.fromEntries(pairs) as Record<string, string>;
    return { name: histograms.has(whole) ? whole : series, labels };
  });
  return { types: Object.fromEntries(types), samples };
}

const typesOf = (...tables: readonly (Names | undefined)[]) =>
  Object.fromEntries(tables.flatMap((table) => [...(table ?? [])].map(([name, { type }]) => [name, type])));

/** Labels of every series of a page, against those that its metric is listed with. */
function expectLabels(page: Page, ...tables: readonly (Names | undefined)[]): void {
  for (const { name, labels } of page.samples) {
    const listed = tables.flatMap((table) => table?.get(name) ?? [])[0];
    const names = Object.keys(labels).filter((label) => label !== "le");
    expect([name, names.toSorted()]).toEqual([name, listed?.labels.toSorted()]);
  }
}

const MADE_UP = 30;
const EVENT = chunk('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
const END = chunk('data: {"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}\n\ndata: [DONE]\n\n');
const ANSWER = json('{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}');

let dir: string;
let ports: { readonly server: number; readonly inside: number; readonly alone: number; readonly agent: number };
let metrics: number;
let engine: RawUpstream;
const running: Running[] = [];

async function start(role: string, lines: readonly string[]): Promise<Running> {
  await writeFile(join(dir, `${role}.yaml`), `${lines.join("\n")}\n`);
  const started = llmgw([role, "-c", join(dir, `${role}.yaml`), "--data-dir", join(dir, role)]);
  running.push(started);
  return started;
}

const ask = async (port: number, body: unknown): Promise<number> => {
  const response = await fetch(`http://127.0.0.1:${String(port)}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify({ messages: [], ...(body as object) }),
  });
  await response.text().catch(() => undefined);
  return response.status;
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-metrics-"));
  const [server, inside, alone, agent] = [await freePort(), await freePort(), await freePort(), await freePort()];
  [ports, metrics] = [{ server, inside, alone, agent }, await freePort()];
  engine = await RawUpstream.onRequest(async (connection, { body }) => {
    const asked = body.toString();
    if (!asked.includes('"stream":true')) return connection.write(ANSWER);
    await connection.write(STREAM_HEAD);
    for (let event = 0; event < 2; event++) await connection.write(EVENT);
    if (asked.includes('"model":"breaks"')) connection.reset();
    else await connection.write(Buffer.concat([END, Buffer.from(LAST_CHUNK)]));
  });
  const control = await start("server", [
    `listen: "127.0.0.1:${String(server)}"`,
    `router: { listen: "127.0.0.1:${String(inside)}", auth: none }`,
  ]);
  const healthy = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${String(server)}/healthz`)).ok;
  await until("the control plane", healthy, { seen: () => control.output() });
  const token = join(dir, "server", "admin-token");
  const at = `http://127.0.0.1:${String(server)}`;
  await start("agent", [
    ...[`server: "${at}"`, "node_id: n1", 'peer_listen: ""'],
    `metrics_listen: "127.0.0.1:${String(agent)}"`,
  ]);
  await start("router", [
    ...[`servers: ["${at}"]`, `token: "file:${token}"`, `listen: "127.0.0.1:${String(alone)}"`, "auth: none"],
    `metrics_listen: "127.0.0.1:${String(metrics)}"`,
  ]);
  const file = join(dir, "upstream.yaml");
  const models = "models: { whole: whole, breaks: breaks }";
  await writeFile(file, `kind: Upstream\nname: far\nurl: http://127.0.0.1:${String(engine.port)}/v1\n${models}\n`);
  const env = { LLMGW_SERVER: at, LLMGW_TOKEN: (await readFile(token, "utf8")).trim() };
  const applied = await finished(["ctl", "apply", "-f", file], { env });
  expect(applied).toMatchObject({ code: 0 });
  for (const port of [inside, alone]) {
    const isServed = async (): Promise<boolean> => (await ask(port, { model: "whole" })) === 200;
    await until("the model at both routers", isServed, { seen: () => running.map((one) => one.output()).join("\n") });
    await ask(port, { model: "whole", stream: true });
    await ask(port, { model: "breaks", stream: true });
    for (let n = 0; n < MADE_UP; n++) await ask(port, { model: `made-up-${String(n)}` });
    for (const body of ["{", '{"model":7}', '{"model":null}', '{"model":"\\u0000"}']) await ask(port, body);
  }
}, 120_000);

afterAll(async () => {
  for (const one of running.toReversed()) await one.end();
  await engine.stop();
  await rm(dir, { recursive: true, force: true });
});

test("the reference page has every promised name with its labels", async () => {
  const tables = Object.values(await reference());
  const found = Object.keys(PROMISED).map((name) => [
    name,
    tables.flatMap((table) => table.get(name) ?? [])[0]?.labels,
  ]);
  expect(Object.fromEntries(found)).toEqual(PROMISED);
});

test("a control plane with a router in it shows what the reference page lists of both, and nothing else", async () => {
  const { "Control plane": own, Router: router } = await reference();
  const page = await scrape(ports.server);
  expect(page.types).toEqual(typesOf(own, router));
  expectLabels(page, own, router);
});

test("a router alone shows its own, and an agent its own", async () => {
  const { Router: router, Agent: agent } = await reference();
  const alone = await scrape(metrics);
  expect(alone.types).toEqual(typesOf(router));
  expectLabels(alone, router);
  await until("the agent's page", async () => (await fetch(`http://127.0.0.1:${String(ports.agent)}/healthz`)).ok);
  const ofAgent = await scrape(ports.agent);
  expect(ofAgent.types).toEqual(typesOf(agent));
  expectLabels(ofAgent, agent);
});

test("what clients make up becomes no label value", async () => {
  for (const port of [ports.server, metrics]) {
    const { samples } = await scrape(port);
    const models = samples.flatMap(({ labels }) => (labels["model"] === undefined ? [] : [labels["model"]]));
    expect(new Set(models)).toEqual(new Set(["whole", "breaks", "unknown"]));
    const codes = samples.filter(({ name }) => name === "llmgw_router_requests_total").map(({ labels }) => labels);
    for (const { code } of codes) expect(code).toMatch(/^(?:200|400|404|502|503)$/);
    // Every series of these has its labels only once something is counted.
    for (const name of ["llmgw_router_tokens_total", "llmgw_router_streams_cut_total"]) {
      expect(samples.some((sample) => sample.name === name)).toBe(true);
    }
  }
});
