import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

const TOKENS = 60;
const question = { messages: [{ role: "user", content: "Hello" }], max_tokens: TOKENS, ignore_eos: true };

const ask = (cluster: Cluster, body: object): Promise<Response> =>
  fetch(`${cluster.baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...question, ...body }),
  });

/** "whole" when every token and a proper end came, else what came instead. */
async function outcome(asked: Promise<Response>): Promise<string> {
  const response = await asked;
  const text = await response.text();
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true;
  const isWhole =
    text.includes(`"completion_tokens":${String(TOKENS)}`) && (!isStream || text.trimEnd().endsWith("data: [DONE]"));
  return response.status === 200 && isWhole ? "whole" : `${String(response.status)} ${text.slice(-300)}`;
}

interface Events {
  readonly events?: readonly { readonly reason: string; readonly subject: string; readonly message: string }[];
}

async function told(cluster: Cluster, reason: string): Promise<readonly string[]> {
  const { events = [] } = await cluster.admin<Events>("ListEvents", { limit: 1000 });
  return events.filter((event) => event.reason === reason).map(({ message }) => message);
}

describe("a profile that goes to zero", () => {
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await Cluster.start();
    await cluster.apply({
      name: "tiny",
      model: { source: "tiny:" },
      context: 8192,
      args: ["-np", "4", "-t", "1"],
      replicas: { min: 0, max: 2, target_in_flight: 16, idle: "2s" },
    });
    await cluster.routed();
  });

  afterAll(async () => {
    await cluster.stop();
  });

  const gone = (): Promise<boolean> =>
    until("no replica", async () => (await cluster.replicas("tiny")).length === 0, { timeoutMs: 30_000 });

  test("a burst is held and starts one engine; all of it is answered whole", async () => {
    expect(await cluster.replicas("tiny")).toEqual([]);
    const streams = Array.from({ length: 8 }, () =>
      ask(cluster, { model: "tiny", stream: true, stream_options: { include_usage: true } }),
    );
    const others = Array.from({ length: 2 }, () => ask(cluster, { model: "tiny" }));
    const outcomes = await Promise.all([...streams, ...others].map(outcome));
    expect(outcomes).toEqual(Array.from({ length: 10 }, () => "whole"));
    expect(await told(cluster, "ReplicaReady")).toHaveLength(1);
    expect(await told(cluster, "ScaledUp")).toEqual([
      expect.stringMatching(/^tiny: from 0 to 1 replicas: for \d+ requests?/),
    ]);
  });

  test("it goes after idle, with its reason and no stream cut", async () => {
    await gone();
    expect(await told(cluster, "ScaledDown")).toEqual(["tiny: from 1 to 0 replicas: idle for 2s"]);
    const { profiles } = await cluster.admin<{ profiles: readonly { readonly range: object }[] }>("ListProfiles");
    expect(profiles[0]?.range).toEqual({ max: 2, why: "scaled to 0: idle for 2s" });
    const { stdout } = await cluster.ctl("status");
    expect(stdout).toContain("tiny: 0 of 0 to 2: scaled to 0: idle for 2s");
    const metrics = await (await fetch(`${cluster.adminUrl}/metrics`)).text();
    expect(metrics).toContain("# TYPE llmgw_router_streams_cut_total counter");
    expect(metrics).not.toMatch(/^llmgw_router_streams_cut_total\{/m);
  });

  test("and comes back for a single request", async () => {
    expect(await outcome(ask(cluster, { model: "tiny" }))).toBe("whole");
    expect(await told(cluster, "ReplicaReady")).toHaveLength(2);
    await gone();
  });

  test("a fixed number is refused with what to do instead", async () => {
    const { code, stderr } = await cluster.ctl("scale", "tiny", "1");
    expect(code).toBe(1);
    expect(stderr).toContain("tiny follows its load, between 0 and 2 replicas");
  });
});

const FILE = 10_000_000;

/** A source that gives two fifths of a file and then nothing more. */
async function stuckSource(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer((request, response) => {
    response.writeHead(200, { "content-length": FILE, "content-type": "application/octet-stream" });
    if (request.method === "HEAD") response.end();
    else response.write(Buffer.alloc(FILE * 0.4));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/model.gguf` };
}

test("a start that takes too long: 503 with the state, the percent and when to come again", async () => {
  const cluster = await Cluster.start({ queue: "{ cold_wait: 2s }" });
  const { server, url } = await stuckSource();
  try {
    await cluster.apply({ name: "slow", model: { source: url }, engine: "llama.cpp", replicas: { min: 0, max: 1 } });
    await cluster.routed();
    const refused = await until("a refusal with the progress", async () => {
      const response = await ask(cluster, { model: "slow" });
      const text = await response.text();
      return text.includes("%") ? { response, text } : undefined;
    });
    expect(refused.response.status).toBe(503);
    expect(Number(refused.response.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: "model_not_ready" } });
    expect(refused.text).toMatch(/slow-\w+ is preparing: fetching .*\d% of 9\.5 MiB.*The request has waited for 2s/);
  } finally {
    server.closeAllConnections();
    server.close();
    await cluster.stop();
  }
});
