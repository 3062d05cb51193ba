import { afterEach, describe, expect, test } from "vitest";
import { bytes, millis } from "../../src/core/ids.ts";
import type { RouterOptions } from "../../src/run/router.ts";
import { until, untilStill } from "../e2e/wait.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD, type UpstreamConnection } from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";
import { clientOf, tlsFor } from "../fakes/version-site.ts";
import { type VersionClient, VERSIONS } from "../fakes/versions-client.ts";

// What a client can rely on, whichever HTTP it speaks.

let harness: RouterHarness;
let client: VersionClient;

afterEach(async () => {
  client.close();
  await harness.idle();
  await harness.stop();
});

describe.each(VERSIONS)("over %s", (version) => {
  const isNew = version.startsWith("HTTP/2");

  async function start(engine: RawUpstream, options: Partial<RouterOptions> = {}): Promise<RawUpstream> {
    harness = await RouterHarness.start({
      ...tlsFor(version),
      ...options,
      limits: { tick: millis(20), ...options.limits },
    });
    await harness.serve({ m: [harness.adopt(engine)] });
    client = clientOf(version, harness.url);
    return engine;
  }

  const answering = async (answer = json('{"ok":true}'), options: Partial<RouterOptions> = {}) =>
    start(await RawUpstream.answering(answer), options);

  /** An engine that has begun a stream and waits for more to say. */
  async function streaming(options: Partial<RouterOptions> = {}): Promise<{ readonly open: () => UpstreamConnection }> {
    let open: UpstreamConnection | undefined;
    const engine = await RawUpstream.onRequest(async (connection) => {
      open = connection;
      await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk('data: {"n":1}\n\n')]));
    });
    await start(engine, options);
    return {
      open: () => {
        if (open === undefined) throw new Error("the engine was not asked");
        return open;
      },
    };
  }

  test("an answer comes back byte for byte, with nothing of the connection in its head", async () => {
    const engine = await answering(
      json(
        '{"é":"\u{1f600}"}',
        "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nX-Two: 1\r\nX-Two: 2\r\nServer: e\r\n",
      ),
    );
    const call = await client.ask({ body: '{"model":"m"}', headers: { "x-request-id": "mine" } }).ended();
    expect([call.status, call.text, call.end]).toEqual([200, '{"é":"\u{1f600}"}', "whole"]);
    expect(call.headers).toMatchObject({ "x-request-id": "mine", "x-llmgw-replica": "m-0", "x-two": "1, 2" });
    for (const name of ["server", "transfer-encoding", ...(isNew ? ["connection", "keep-alive"] : [])]) {
      expect(call.headers).not.toHaveProperty(name);
    }
    const head = engine.requests[0]?.head ?? "";
    expect(head).toMatch(/^POST \/v1\/chat\/completions HTTP\/1\.1\r\nHost: 127\.0\.0\.1:\d+\r\n/);
    expect(head).not.toMatch(/\r\n:|authority|pseudo/i);
  });

  test("keys are asked for, and stay here", async () => {
    const engine = await answering(json("{}"), { auth: "keys" });
    const none = await client.ask({ body: '{"model":"m"}' }).ended();
    expect([none.status, none.json]).toMatchObject([401, { error: { type: "invalid_request_error" } }]);
    expect(engine.requests).toHaveLength(0);
  });

  test("Anthropic's clients are refused in their shape", async () => {
    await answering();
    const call = await client.ask({ path: "/v1/messages", body: '{"model":"none"}' }).ended();
    expect([call.status, call.json]).toMatchObject([404, { type: "error", error: { type: "not_found_error" } }]);
  });

  test("61 KiB of headers pass, 65 KiB are 431", async () => {
    const engine = await answering();
    const fields = (kib: number): Record<string, string> =>
      Object.fromEntries(Array.from({ length: kib }, (_, n) => [`x-h-${String(n)}`, "v".repeat(1_010)]));
    const well = await client.ask({ body: '{"model":"m"}', headers: fields(61) }).ended();
    expect(well.status).toBe(200);
    expect(engine.requests[0]?.head.length).toBeGreaterThan(61_000);
    const more = await client.ask({ body: '{"model":"m"}', headers: fields(66) }).ended();
    expect([more.status, more.json]).toMatchObject([431, { error: { type: "invalid_request_error" } }]);
    expect(engine.requests).toHaveLength(1);
  });

  test("a flood of headers ends in a refusal or in the connection's end, and others are served", async () => {
    const engine = await answering();
    const headers = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`x-${String(n)}`, "v".repeat(1_000)]));
    const flood = await client.ask({ body: '{"model":"m"}', headers }).ended();
    expect([0, 431]).toContain(flood.status);
    client.close();
    client = clientOf(version, harness.url);
    expect((await client.ask({ body: '{"model":"m"}' }).ended()).status).toBe(200);
    expect(engine.requests).toHaveLength(1);
  });

  test.each(["by its length", "as it comes"])(
    "a body over the limit is 413 %s, before it is all there",
    async (how) => {
      const engine = await answering(json("{}"), { limits: { bodyBytes: bytes(100_000) } });
      const headers = how === "by its length" ? { "content-length": "200000000" } : {};
      const call = client.ask({ isOpen: true, headers });
      call.write(`{"model":"m","x":"${"a".repeat(how === "by its length" ? 10 : 100_000)}`);
      await call.ended();
      expect([call.status, call.json]).toMatchObject([413, { error: { code: "request_too_large" } }]);
      expect(engine.requests).toHaveLength(0);
      expect(await harness.logged({ code: 413 })).toMatchObject({ outcome: "refused" });
    },
  );

  test("Expect: 100-continue is answered", async () => {
    await answering();
    const body = '{"model":"m"}';
    const headers = { expect: "100-continue", "content-length": String(body.length) };
    const call = client.ask({ isOpen: true, headers });
    await until("100 Continue", () => call.continued);
    call.write(body);
    call.finish();
    expect((await call.ended()).status).toBe(200);
  });

  test("a page of an allowed origin may ask", async () => {
    await answering(json("{}"), { cors: ["https://a.example"] });
    const headers = { origin: "https://a.example", "access-control-request-headers": "authorization" };
    const asked = await client.ask({ method: "OPTIONS", headers }).ended();
    expect([asked.status, asked.headers["access-control-allow-origin"]]).toEqual([204, "https://a.example"]);
    const call = await client.ask({ body: '{"model":"m"}', headers }).ended();
    expect(call.headers["access-control-allow-origin"]).toBe("https://a.example");
  });

  test("HEAD is answered without a body", async () => {
    await answering();
    const call = await client.ask({ method: "HEAD", path: "/healthz" }).ended();
    expect([call.status, call.text, call.headers["content-length"]]).toEqual([200, "", "15"]);
  });

  test("a stream comes event by event, with comments while it is silent", async () => {
    const { open } = await streaming({ limits: { streamComment: millis(50) } });
    const call = client.ask({ body: '{"model":"m","stream":true}' });
    await call.waitFor('data: {"n":1}\n\n');
    await call.waitFor(": waiting\n");
    await open().write(Buffer.concat([chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
    await call.ended();
    expect(call.end).toBe("whole");
    expect(call.text.replaceAll(": waiting\n", "")).toBe('data: {"n":1}\n\ndata: [DONE]\n\n');
  });

  test("a stream whose engine dies ends with an error event", async () => {
    const { open } = await streaming();
    const call = client.ask({ body: '{"model":"m","stream":true}' });
    await call.waitFor("data: ");
    open().reset();
    await call.ended();
    expect([call.end, call.text]).toEqual(["whole", expect.stringMatching(/\n\ndata: \{"error":/) as string]);
  });

  test("what is no stream is cut when its engine dies", async () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    const engine = await RawUpstream.onRequest(async (connection) => {
      await connection.write(Buffer.concat([Buffer.from(head), chunk("{")]));
    });
    await start(engine);
    const call = client.ask({ body: '{"model":"m"}' });
    await call.waitFor("{");
    engine.reset();
    expect((await call.ended()).end).toBe("cut");
  });

  test.each(["prefill", "the answer"])("a client that leaves in %s ends the engine's request", async (when) => {
    const { open } = when === "prefill" ? { open: undefined } : await streaming();
    if (open === undefined) await start(await RawUpstream.start(() => undefined));
    const call = client.ask({ body: '{"model":"m","stream":true}' });
    const [engine] = harness.upstreams;
    if (open === undefined) await until("the engine asked", () => engine?.connections.length === 1);
    else await call.waitFor("data: ");
    call.abort();
    await until("the engine's connection gone", () => engine?.openConnections === 0);
    expect(await harness.logged({ code: 499 })).toMatchObject({ outcome: "client_gone", model: "m" });
  });

  test("a client that reads nothing holds up its engine, and nobody else", async () => {
    let written = 0;
    const piece = chunk(Buffer.alloc(1 << 20, "a"));
    const engine = await RawUpstream.onRequest(async (connection, { body }) => {
      if (!body.includes("stream")) {
        await connection.write(json("{}"));
        return;
      }
      await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk("data: ")]));
      for (written = 0; written < 200 && !connection.isClosed; written++) {
        await Promise.race([connection.write(piece), connection.closed]);
      }
    });
    await start(engine);
    const call = await client.ask({ body: '{"model":"m","stream":true}' }).began();
    call.pause();
    await untilStill("the engine held up", () => written);
    expect(written).toBeLessThan(100);
    expect((await client.ask({ body: '{"model":"m"}' }).ended()).status).toBe(200);
    call.abort();
    await until("the engine's connection gone", () => engine.openConnections <= 1);
  });

  test("a body that stops coming is 400", async () => {
    const engine = await answering(json("{}"), { limits: { uploadIdle: millis(200) } });
    const call = client.ask({ isOpen: true, body: '{"model":"m"' });
    await call.ended();
    expect([call.status, call.json]).toMatchObject([400, { error: { code: null } }]);
    expect(engine.requests).toHaveLength(0);
  });

  test("stopping lets a stream end whole and takes no more", async () => {
    const { open } = await streaming();
    const call = client.ask({ body: '{"model":"m","stream":true}' });
    await call.waitFor("data: ");
    const stopped = harness.router.stop();
    if (client.session !== undefined) await until("GOAWAY", () => client.session?.closed === true);
    await open().write(Buffer.concat([chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
    await call.ended();
    expect([call.end, call.text.endsWith("data: [DONE]\n\n")]).toEqual(["whole", true]);
    await stopped;
  });

  test("stopping cuts what does not end within the limit", async () => {
    await streaming({ limits: { stop: millis(200) } });
    const call = client.ask({ body: '{"model":"m","stream":true}' });
    await call.waitFor("data: ");
    await harness.router.stop();
    expect((await call.ended()).end).toBe("cut");
  });
});
