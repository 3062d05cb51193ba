import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import type { ModelRoute } from "../../src/core/route.ts";
import type { RouterLimits } from "../../src/router/limits.ts";
import { until } from "../e2e/wait.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const COLD: Partial<ModelRoute> = {
  holds: true,
  waitingFor: "m-0 is preparing: fetching m.gguf: 43% of 98 MiB, 4s left",
  waitSeconds: 4,
};

/** A router whose model m is scaled to 0. */
async function cold(limits: Partial<RouterLimits> = {}): Promise<void> {
  harness = await RouterHarness.start({ limits: { tick: millis(20), ...limits } });
  await harness.serve({ m: [] }, COLD);
}

const waitingAt = (): number => harness.source.reports.at(-1)?.waiting["m"] ?? 0;
const told = (count: number) => until(`${String(count)} told to wait`, () => waitingAt() === count);

const STREAM = { model: "m", stream: true };
const DELTA = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n';

async function engine(answer: string): Promise<RawUpstream> {
  return harness.adopt(await RawUpstream.answering(answer));
}

const streamOf = (...events: readonly string[]): string =>
  STREAM_HEAD + events.map((event) => chunk(event).toString()).join("") + LAST_CHUNK;

const stream = streamOf(DELTA, "data: [DONE]\n\n");

describe("a model that is scaled to 0", () => {
  test("the control plane hears of those who wait at once, and all are answered when a replica is there", async () => {
    await cold();
    const asked = [...Array(20).keys()].map((n) => harness.post(n % 2 === 0 ? STREAM : { model: "m" }));
    await told(20);
    const one = await harness.upstream(async (connection) => {
      for (;;) {
        const request = await connection.request();
        if (request === undefined) return;
        await connection.write(String(request.body).includes("stream") ? stream : json('{"ok":true}'));
      }
    });
    await harness.serve({ m: [one] });
    const answers = await Promise.all(asked);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    const texts = await Promise.all(answers.map((answer) => answer.text()));
    expect(texts.filter((text) => text.endsWith("data: [DONE]\n\n"))).toHaveLength(10);
    expect(texts.filter((text) => text === '{"ok":true}')).toHaveLength(10);
    await told(0);
  });

  test("a stream that waits for long is begun with comments; the answer follows in it", async () => {
    await cold({ coldComment: millis(30) });
    const response = await harness.post(STREAM);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream; charset=utf-8"]);
    expect(response.headers.get("x-request-id")).not.toBeNull();
    await harness.serve({ m: [await engine(stream)] });
    const text = await response.text();
    expect(text).toMatch(/^(: waiting\n)+data: \{"choices"/);
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("Messages get pings instead, as their clients know them", async () => {
    await cold({ coldComment: millis(30) });
    const response = await harness.post(STREAM, { path: "/v1/messages" });
    await harness.serve({
      m: [await engine(streamOf('event: message_stop\ndata: {"type":"message_stop"}\n\n'))],
    });
    expect(await response.text()).toMatch(/^(event: ping\ndata: \{"type": "ping"\}\n\n)+event: message_stop\n/);
  });

  test("after the deadline: 503 with what is waited for, how far it is, and when to come again", async () => {
    await cold({ coldWait: millis(80) });
    for (const body of [STREAM, { model: "m" }]) {
      const refused = await harness.post(body);
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "4"]);
      const { message, code } = await errorOf(refused);
      expect(code).toBe("model_not_ready");
      expect(message).toContain("m-0 is preparing: fetching m.gguf: 43% of 98 MiB, 4s left");
      expect(message).toContain("has waited for");
    }
    await told(0);
  });

  test("after the deadline of a stream that has begun: an error event, and never [DONE]", async () => {
    await cold({ coldWait: millis(120), coldComment: millis(20) });
    const text = await (await harness.post(STREAM)).text();
    expect(text).toMatch(/^(: waiting\n)+data: \{"error":\{"message":"The model `m` is not ready: m-0 is preparing/);
    expect(text).not.toContain("[DONE]");
    await harness.logged({ code: 503, outcome: "refused" });
  });

  test("a refusal of the engine becomes the last event of a stream that has begun", async () => {
    await cold({ coldComment: millis(20) });
    const response = await harness.post(STREAM);
    const body = '{"error":{"message":"too\\nlong","type":"invalid_request_error","param":null,"code":null}}';
    await harness.serve({ m: [await engine(json(body).replace("200 OK", "400 Bad Request"))] });
    const [event, ...rest] = (await response.text()).replace(/^(: waiting\n)+/, "").split("\n\n");
    expect(JSON.parse(event?.replace(/^data: /, "") ?? "")).toEqual(JSON.parse(body));
    expect(rest).toEqual([""]);
    await harness.logged({ code: 400 });
  });

  test("a replica that breaks off before its answer is replaced by another, in a stream that has begun", async () => {
    await cold({ coldComment: millis(20) });
    const response = await harness.post(STREAM);
    const broken = await harness.upstream(async (connection) => {
      await connection.request();
      connection.socket.destroy();
    });
    await harness.serve({ m: [broken, await engine(stream)] });
    expect((await response.text()).replace(/^(: waiting\n)+/, "")).toBe(`${DELTA}data: [DONE]\n\n`);
  });

  test("a start that its node gives up on is told at once to those who wait", async () => {
    await cold();
    const asked = harness.post({ model: "m" });
    await told(1);
    await harness.serve({ m: [] }, { waitingFor: "m-0 is failed: no such file" });
    const refused = await asked;
    expect([refused.status, (await errorOf(refused)).message]).toEqual([
      503,
      expect.stringContaining("m-0 is failed: no such file"),
    ]);
    expect((await harness.post({ model: "m" })).status).toBe(503);
  });

  test("whoever leaves while it waits is told to be gone", async () => {
    await cold();
    const client = await RawClient.connect(harness.url);
    client.send(post(JSON.stringify(STREAM)));
    await told(1);
    client.close();
    await told(0);
    await harness.logged({ code: 499, detail: "queued" });
  });

  test("a router that could wake it is ready", async () => {
    await cold();
    expect((await fetch(`${harness.url}/readyz`)).status).toBe(200);
  });
});
