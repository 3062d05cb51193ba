import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { freePort } from "../e2e/cluster.ts";
import { until } from "../e2e/wait.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const LIMITS = { tick: millis(10), connect: millis(2_000), firstByte: millis(800), idle: millis(800) };
const begin = async (firstByte = LIMITS.firstByte): Promise<void> => {
  harness = await RouterHarness.start({ limits: { ...LIMITS, firstByte } });
};

describe("several replicas", () => {
  test("B112 one that hangs holds up nobody else", async () => {
    // Two hundred have to be there together before the first of them times out, on a busy machine too.
    await begin(millis(4_000));
    const silent = await harness.upstream((connection) => connection.closed);
    const good = harness.adopt(await RawUpstream.answering(json("{}")));
    harness.slots = 0;
    await harness.serve({ hung: [silent], fine: [good] });
    const hung = [...Array(200).keys()].map(() => harness.post({ model: "hung" }));
    await until("all at the engine", () => silent.connections.length === 200);
    for (let n = 0; n < 10; n++) expect((await harness.post({ model: "fine" })).status).toBe(200);
    const statuses = await Promise.all(hung.map(async (response) => (await response).status));
    expect(new Set(statuses)).toEqual(new Set([504]));
    // Set aside after its timeouts, with the time that it is left alone.
    const response = await harness.post({ model: "hung" });
    expect([response.status, (await errorOf(response)).code]).toEqual([503, "model_not_ready"]);
    expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  });

  test("B114 one dead at the start is passed over, and used once it is up", async () => {
    await begin();
    const port = await freePort();
    const good = harness.adopt(await RawUpstream.answering(json("{}")));
    await harness.serve({ m: [port, good] });
    for (let n = 0; n < 5; n++) expect((await harness.post({ model: "m" })).status).toBe(200);
    const late = harness.adopt(await RawUpstream.answering(json("{}"), port));
    await until("the late one in use", async () => {
      await harness.post({ model: "m" });
      return late.requests.length > 0;
    });
  });

  test("B115 counters are exact over resets, removal and return, and equals share the load", async () => {
    await begin();
    let open: UpstreamConnection | undefined;
    let isResetting = true;
    const a = harness.adopt(
      await RawUpstream.onRequest(async (connection, request) => {
        if (isResetting) connection.reset();
        else if (request.body.includes("stream")) {
          open = connection;
          await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk("data: 1\n\n")]));
        } else await connection.write(json("{}"));
      }),
    );
    const b = harness.adopt(await RawUpstream.answering(json("{}")));
    await harness.serve({ m: [a] });
    for (let n = 0; n < 10; n++) expect([502, 503]).toContain((await harness.post({ model: "m" })).status);
    isResetting = false;
    await until("the first taken back", async () => (await harness.post({ model: "m" })).ok);
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m","stream":true}'));
    await client.waitFor("data: 1");
    await harness.serve({ m: [b] });
    await until("the removed replica in the report", () => harness.source.reports.at(-1)?.inFlight["m-0"] === 1);
    await harness.serve({ m: [a, b] });
    await open?.write(Buffer.concat([chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
    await client.waitFor("[DONE]");
    client.close();
    await harness.idle();
    const before = { a: a.requests.length, b: b.requests.length };
    for (let n = 0; n < 10; n++) expect((await harness.post({ model: "m" })).status).toBe(200);
    expect({ a: a.requests.length - before.a, b: b.requests.length - before.b }).toEqual({ a: 5, b: 5 });
    await until("an empty report", () => Object.keys(harness.source.reports.at(-1)?.inFlight ?? { x: 1 }).length === 0);
  });

  test("the least busy one gets the request", async () => {
    await begin();
    const slow = await harness.upstream((connection) => connection.closed);
    const good = harness.adopt(await RawUpstream.answering(json("{}")));
    await harness.serve({ m: [slow] });
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}'));
    await until("one busy", () => slow.connections.length === 1);
    await harness.serve({ m: [slow, good] });
    for (let n = 0; n < 5; n++) expect((await harness.post({ model: "m" })).status).toBe(200);
    client.close();
  });

  test("B125 no failure leaves a slot taken", async () => {
    await begin();
    let isSilent = true;
    const upstream = await harness.upstream(async (connection) => {
      for (let request = await connection.request(); request !== undefined; request = await connection.request()) {
        if (!isSilent) await connection.write(json("{}"));
      }
    });
    await harness.serve({ m: [upstream] });
    const statuses = async (body: string): Promise<number[]> =>
      Promise.all([1, 2, 3, 4, 5].map(async () => (await harness.post(body)).status));
    expect(await statuses('{"model":"m"}')).toEqual([504, 504, 504, 504, 504]);
    expect(await statuses('{"model":"none"}')).toEqual([404, 404, 404, 404, 404]);
    expect(await statuses("no json")).toEqual([400, 400, 400, 400, 400]);
    expect(await statuses('{"model":"m"}')).toEqual([503, 503, 503, 503, 503]);
    isSilent = false;
    await until("two good ones", async () => {
      const both = await Promise.all([harness.post({ model: "m" }), harness.post({ model: "m" })]);
      return both.every((response) => response.ok);
    });
    expect(await harness.metric('llmgw_router_in_flight{model="m"}')).toBe(0);
    await until("an empty report", () => Object.keys(harness.source.reports.at(-1)?.inFlight ?? { x: 1 }).length === 0);
  });
});

describe("a model that is not there", () => {
  test("unknown: 404 in OpenAI's words", async () => {
    await begin();
    await harness.serve({ m: [] });
    const response = await harness.post({ model: "nope" });
    expect(response.status).toBe(404);
    const error = await errorOf(response);
    expect(error).toMatchObject({ type: "invalid_request_error", param: "model", code: "model_not_found" });
    expect(error.message).toContain("The model `nope` does not exist or you do not have access to it.");
    expect(await harness.metric('llmgw_router_requests_total{model="unknown",code="404"}')).toBe(1);
  });

  test.each([
    [12, "12", "true"],
    [60, "60", "true"],
    [600, "60", "false"],
    [0, "5", "true"],
  ])(
    "B123 not ready for %d s: 503 with Retry-After %s, x-should-retry %s, and what is waited for",
    async (waitSeconds, retryAfter, retry) => {
      await begin();
      await harness.serve({ m: [] }, { waitingFor: "fetching model.gguf, 40 %", waitSeconds });
      const response = await harness.post({ model: "m" });
      expect([response.status, response.headers.get("retry-after"), response.headers.get("x-should-retry")]).toEqual([
        503,
        retryAfter,
        retry,
      ]);
      expect(response.headers.get("retry-after-ms")).toBe(`${retryAfter}000`);
      const error = await errorOf(response);
      expect(error).toMatchObject({ code: "model_not_ready", type: "service_unavailable_error" });
      expect(error.message).toContain("fetching model.gguf, 40 %");
    },
  );

  test("readiness says so until a replica is there; liveness does not care", async () => {
    await begin();
    const get = async (path: string): Promise<[number, string]> => {
      const response = await fetch(harness.url + path);
      return [response.status, await response.text()];
    };
    expect((await get("/readyz"))[0]).toBe(503);
    await harness.serve({ m: [] }, { waitingFor: "a node with a GPU" });
    expect(await get("/readyz")).toEqual([503, expect.stringContaining("m: a node with a GPU")]);
    expect((await get("/healthz"))[0]).toBe(200);
    await harness.serve({ m: [await freePort()] });
    expect((await get("/readyz"))[0]).toBe(200);
  });
});
