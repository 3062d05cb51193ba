import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import type { RouterOptions } from "../../src/run/router.ts";
import { until } from "../e2e/wait.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { RawUpstream, chunk, LAST_CHUNK, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

async function start(options: Partial<RouterOptions> = {}): Promise<RawUpstream> {
  const started = await RouterHarness.answering(options);
  ({ harness } = started);
  return started.upstream;
}

describe.each(["own", "node"] as const)("connections of clients, read by %s", (http1) => {
  test("B100 an idle one is kept for longer than load balancers do", async () => {
    await start({ http1 });
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}'));
    const first = await client.waitFor('{"ok":true}');
    const timeout = /keep-alive: timeout=(\d+)/i.exec(first)?.[1];
    expect(Number(timeout)).toBeGreaterThan(60);
    client.close();
  });

  test("B100 stopping closes idle ones at once and lets a stream end", async () => {
    harness = await RouterHarness.start({ http1, limits: { tick: millis(20) } });
    let open: UpstreamConnection | undefined;
    const upstream = harness.adopt(
      await RawUpstream.onRequest(async (connection) => {
        open = connection;
        await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk("data: 1\n\n")]));
      }),
    );
    await harness.serve({ m: [upstream] });
    const idle = await RawClient.connect(harness.url);
    idle.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    await idle.waitFor("ok");
    const streaming = await RawClient.connect(harness.url);
    streaming.send(post('{"model":"m"}'));
    await streaming.waitFor("data: 1");
    const stopped = harness.router.stop();
    await idle.waitForClose();
    expect(streaming.isClosed).toBe(false);
    await open?.write(Buffer.concat([chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
    expect(await streaming.waitForClose()).toContain("[DONE]");
    await stopped;
  });

  test("stopping cuts what does not end within the limit", async () => {
    harness = await RouterHarness.start({ http1, limits: { tick: millis(20), stop: millis(200) } });
    const upstream = await harness.upstream(() => undefined);
    await harness.serve({ m: [upstream] });
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}'));
    await until("the engine asked", () => upstream.connections.length === 1);
    await harness.router.stop();
    await client.waitForClose();
  });

  test.each([true, false])(
    "B103 B104 a client that leaves during prefill ends the engine's request (stream: %s)",
    async (stream) => {
      harness = await RouterHarness.start({ http1, limits: { tick: millis(20) } });
      const upstream = await harness.upstream(() => undefined);
      await harness.serve({ m: [upstream] });
      const client = await RawClient.connect(harness.url);
      client.send(post(JSON.stringify({ model: "m", stream })));
      await until("the engine asked", () => upstream.connections.length === 1);
      expect(await harness.metric('llmgw_router_in_flight{model="m"}')).toBe(1);
      client.close();
      await until("the engine's connection gone", () => upstream.openConnections === 0);
      expect(await harness.logged({ code: 499 })).toMatchObject({ outcome: "client_gone", model: "m" });
      expect(await harness.metric('llmgw_router_requests_total{model="m",code="499"}')).toBe(1);
    },
  );

  test("a client that closes its half, as a killed process does, has left too", async () => {
    harness = await RouterHarness.start({ http1, limits: { tick: millis(20) } });
    const upstream = await harness.upstream(() => undefined);
    await harness.serve({ m: [upstream] });
    const client = await RawClient.connect(harness.url);
    client.send(post('{"model":"m"}'));
    await until("the engine asked", () => upstream.connections.length === 1);
    client.socket.end();
    await until("the engine's connection gone", () => upstream.openConnections === 0);
  });

  test("requests sent ahead on one connection are answered in their order", async () => {
    const upstream = await start({ http1 });
    const client = await RawClient.connect(harness.url);
    client.send(Buffer.concat([post('{"model":"m"}'), post('{"model":"none"}'), post('{"model":"m"}')]));
    await until("three answers", () => client.text.split("HTTP/1.1 ").length === 4);
    expect([...client.text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, code]) => code)).toEqual(["200", "404", "200"]);
    expect(upstream.requests).toHaveLength(2);
    client.close();
  });
});
