import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import type { RouterLimits } from "../../src/router/limits.ts";
import { until } from "../e2e/wait.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  expect(await depth()).toBe(0);
  await harness.stop();
});

const depth = (): Promise<number> => harness.metric('llmgw_router_queue_depth{model="m"}');
const waiting = (count: number): Promise<unknown> =>
  until(`${String(count)} waiting`, async () => (await depth()) === count);

/** One engine of one slot that answers only when it is told to. */
async function busy(limits: Partial<RouterLimits> = {}) {
  harness = await RouterHarness.start({ limits: { tick: millis(20), headroom: 0, ...limits } });
  harness.slots = 1;
  const open: UpstreamConnection[] = [];
  const upstream = harness.adopt(await RawUpstream.onRequest((connection) => void open.push(connection)));
  await harness.serve({ m: [upstream] });
  const answered: Promise<Response>[] = [];
  const ask = async (n: number): Promise<Response> => {
    const before = upstream.requests.length + (await depth());
    const response = harness.post({ model: "m", n });
    response.catch(() => undefined);
    answered.push(response);
    await until("asked", async () => upstream.requests.length + (await depth()) === before + 1);
    return response;
  };
  const answer = async (): Promise<void> => {
    await until("a request at the engine", () => open.length > 0);
    await open.shift()?.write(json("{}"));
  };
  return { upstream, ask, answer, answered };
}

describe("an engine with one slot", () => {
  test("has one request at a time, and the next one as soon as it is free, in their order", async () => {
    const { upstream, ask, answer, answered } = await busy();
    void ask(0);
    await until("one there", () => upstream.requests.length === 1);
    for (const n of [1, 2, 3]) {
      void ask(n);
      await waiting(n);
    }
    expect(await harness.metric('llmgw_router_in_flight{model="m"}')).toBe(1);
    for (let n = 0; n < 4; n++) {
      expect(upstream.requests).toHaveLength(n + 1);
      await answer();
      await until("the next one", () => upstream.requests.length === Math.min(4, n + 2));
    }
    expect((await Promise.all(answered)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(upstream.requests.map(({ body }) => (JSON.parse(String(body)) as { n: number }).n)).toEqual([0, 1, 2, 3]);
  });

  test("a full queue refuses at once, with the time to come again", async () => {
    const { upstream, ask, answer } = await busy({ queueLength: 1 });
    void ask(0);
    await until("one there", () => upstream.requests.length === 1);
    void ask(1);
    await waiting(1);
    const refused = await harness.post({ model: "m" });
    expect(refused.status).toBe(503);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(60);
    expect(await errorOf(refused)).toMatchObject({ code: "server_is_overloaded", type: "service_unavailable_error" });
    await answer();
    await answer();
  });

  test("a wait that is too long is refused in the same words, and no engine hears of it", async () => {
    const { upstream, ask, answer } = await busy({ queueWait: millis(60) });
    void ask(0);
    await until("one there", () => upstream.requests.length === 1);
    const refused = await harness.post({ model: "m" });
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "server_is_overloaded"]);
    expect(upstream.requests).toHaveLength(1);
    await answer();
  });

  test("whoever leaves while waiting is gone at once, and no engine hears of it", async () => {
    const { upstream, ask, answer } = await busy();
    void ask(0);
    await until("one there", () => upstream.requests.length === 1);
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}'));
    await waiting(1);
    client.close();
    await waiting(0);
    await harness.logged({ code: 499, outcome: "client_gone", detail: "queued" });
    await answer();
    await harness.idle();
    expect(upstream.requests).toHaveLength(1);
  });

  test("a replica that joins takes the next one without delay", async () => {
    const { upstream, ask, answer, answered } = await busy();
    void ask(0);
    await until("one there", () => upstream.requests.length === 1);
    void ask(1);
    await waiting(1);
    const second = harness.adopt(await RawUpstream.answering(json("{}")));
    await harness.serve({ m: [upstream, second] });
    expect((await answered[1])?.status).toBe(200);
    expect(second.requests).toHaveLength(1);
    await answer();
  });

  test("counting tokens does not wait for a slot", async () => {
    const { upstream, ask, answer } = await busy();
    void ask(0);
    await until("one there", () => upstream.requests.length === 1);
    const counting = harness.post({ model: "m", content: "a" }, { path: "/tokenize" });
    await until("both there", () => upstream.requests.length === 2);
    await answer();
    await answer();
    expect((await counting).status).toBe(200);
  });
});

describe("counts of a stream", () => {
  const FINISH = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
  const USAGE = 'data: {"choices":[],"usage":{"prompt_tokens":13,"completion_tokens":20,"total_tokens":33}}\n\n';
  const DONE = "data: [DONE]\n\n";

  async function streaming(asksUsage = true): Promise<RawUpstream> {
    harness = await RouterHarness.start({ limits: { tick: millis(20) }, asksUsage });
    const upstream = await RawUpstream.onRequest(async (connection) => {
      await connection.write(STREAM_HEAD);
      for (const piece of [FINISH, USAGE, DONE]) await connection.write(chunk(piece));
      await connection.write(LAST_CHUNK);
    });
    await harness.serve({ m: [harness.adopt(upstream)] });
    return upstream;
  }

  test.each([
    { name: "not asked for: asked of the engine and taken out", options: {}, asks: true, sees: false },
    {
      name: "refused by the client: the same",
      options: { stream_options: { include_usage: false } },
      asks: true,
      sees: false,
    },
    {
      name: "asked for: as the engine sends them",
      options: { stream_options: { include_usage: true } },
      asks: true,
      sees: true,
    },
    { name: "with the setting off nothing changes", options: {}, setting: false, asks: false, sees: true },
  ])("B96 $name", async ({ options, setting = true, asks, sees }) => {
    const upstream = await streaming(setting);
    const body = { model: "m", stream: true, ...options };
    const response = await harness.post(body);
    expect(await response.text()).toBe(sees ? FINISH + USAGE + DONE : FINISH + DONE);
    const [request] = upstream.requests;
    const sent = String(request?.body);
    const stream_options = { include_usage: true };
    expect(JSON.parse(sent)).toEqual(asks ? { ...body, stream_options } : body);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="completion"}')).toBe(20);
  });
});
