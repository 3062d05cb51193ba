import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { bytes, millis } from "../../src/core/ids.ts";
import type { RouterLimits } from "../../src/router/limits.ts";
import { until, untilStill } from "../e2e/wait.ts";
import { ReadingEngine, type ReadRequest } from "../fakes/reading-engine.ts";
import { RouterHarness } from "../fakes/router-harness.ts";
import { clientOf, tlsFor } from "../fakes/version-site.ts";
import type { Ask, Call, Version, VersionClient } from "../fakes/versions-client.ts";

// Bodies that are passed on as they come, because they say early whom to ask.

/** Of a body that is held. */
const KEPT = 65_536;
const KIB = 1_024;
const text = (kib: number): string => "abcdefgh".repeat(kib * 128);
const sha256 = (body: string): string => createHash("sha256").update(body).digest("hex");

let harness: RouterHarness;
let client: VersionClient;
const engines: ReadingEngine[] = [];

afterEach(async () => {
  client.close();
  await harness.idle();
  await harness.stop();
  await Promise.all(engines.splice(0).map((engine) => engine.stop()));
});

async function engineThat(onRequest?: (request: ReadRequest) => void): Promise<ReadingEngine> {
  const engine = await ReadingEngine.start(onRequest);
  engines.push(engine);
  return engine;
}

async function start(version: Version, ports: readonly number[], limits: Partial<RouterLimits> = {}): Promise<void> {
  harness = await RouterHarness.start({
    ...tlsFor(version),
    limits: { tick: millis(20), keptBodyBytes: bytes(KEPT), ...limits },
  });
  await harness.serve({ m: ports });
  client = clientOf(version, harness.url);
}

/** A body of which more is to come: its model is known, and more is here than is held. */
const begun = (kib = 256, more = ""): string =>
  `{"model":"m"${more},"messages":[{"role":"user","content":"${text(kib)}`;
const REST = '"}]}';

const open = (ask: Ask = {}): Call => client.ask({ isOpen: true, body: begun(), ...ask });

async function first(engine: ReadingEngine): Promise<ReadRequest> {
  return until("the engine asked", () => engine.requests[0]);
}

describe.each<Version>(["HTTP/1.1", "HTTP/1.1 by Node", "HTTP/2 with TLS"])("over %s", (version) => {
  test.each([
    { name: "of a known length keeps it", path: "/v1/embeddings", hasLength: true, want: "content-length" },
    {
      name: "of an unknown length goes in chunks",
      path: "/v1/embeddings",
      hasLength: false,
      want: "transfer-encoding",
    },
    {
      name: "at whose end something may be added goes in chunks",
      path: "/v1/chat/completions",
      hasLength: true,
      want: "transfer-encoding",
    },
  ])("the engine has the beginning before the client has sent the end, and a body $name", async (row) => {
    const engine = await engineThat();
    await start(version, [engine.port]);
    const whole = begun(1_024) + REST;
    const headers = row.hasLength ? { "content-length": String(whole.length) } : {};
    const call = client.ask({ isOpen: true, path: row.path, headers, body: whole.slice(0, 512 * KIB) });
    const request = await first(engine);
    await until("the beginning", () => request.received >= 500 * KIB);
    expect(Object.keys(request.headers)).toContain(row.want);
    call.write(whole.slice(512 * KIB));
    call.finish();
    expect((await call.ended()).status).toBe(200);
    expect([request.end, request.sha256]).toEqual(["whole", sha256(whole)]);
    expect(await harness.logged({ code: 200 })).toMatchObject({ bytes_in: whole.length, outcome: "complete" });
  });

  test("one whose model comes last is held until it is there", async () => {
    const engine = await engineThat();
    await start(version, [engine.port]);
    const whole = `{"messages":[{"content":"${text(512)}"}],"model":"m"}`;
    const call = client.ask({ isOpen: true, body: whole.slice(0, -20) });
    await until("nothing waiting", () => call.waiting === 0);
    expect(engine.requests).toHaveLength(0);
    call.write(whole.slice(-20));
    call.finish();
    expect((await call.ended()).status).toBe(200);
    expect(engine.requests[0]?.sha256).toBe(sha256(whole));
  });

  test("an engine that reads nothing holds up its client", async () => {
    const engine = await engineThat((request) => {
      request.pause();
    });
    await start(version, [engine.port]);
    const call = open();
    const request = await first(engine);
    for (let mib = 0; mib < 60; mib++) call.write(text(1_024));
    await untilStill("the client held up", () => call.waiting);
    expect(call.waiting).toBeGreaterThan(30 * KIB * KIB);
    request.resume();
    call.write(REST);
    call.finish();
    await until("all of it", () => request.end === "whole");
    request.answer(200, "{}");
    expect((await call.ended()).status).toBe(200);
  });

  test("a client that leaves in the middle ends the engine's request", async () => {
    const engine = await engineThat();
    await start(version, [engine.port]);
    const call = open();
    const request = await first(engine);
    call.abort();
    await until("the engine's request cut", () => request.end === "cut");
    expect(await harness.logged({ code: 499 })).toMatchObject({ outcome: "client_gone", replica: "m-0" });
  });

  test("an engine's early no is passed on", async () => {
    const engine = await engineThat((request) => {
      request.answer(400, '{"error":{"message":"no such picture","type":"x","param":null,"code":null}}');
    });
    await start(version, [engine.port]);
    const call = await open().ended();
    expect([call.status, call.json]).toMatchObject([400, { error: { message: "no such picture" } }]);
    expect(await harness.logged({ code: 400 })).toMatchObject({ outcome: "refused_by_engine" });
  });

  test("once more was passed on than is held, a dead engine is told and no other is asked", async () => {
    const [dying, other] = [await engineThat(), await engineThat()];
    await start(version, [dying.port, other.port]);
    const call = open();
    const asked = await until("an engine asked", () => dying.requests[0] ?? other.requests[0]);
    await until("what was held and more", () => asked.received > KEPT * 2);
    asked.res.destroy();
    await call.ended();
    expect([call.status, call.json]).toMatchObject([502, { error: { type: "upstream_error" } }]);
    expect(dying.requests.length + other.requests.length).toBe(1);
  });

  test("an engine that is too busy is passed on as well, though another is free", async () => {
    const busy = (request: ReadRequest): void => {
      void until("more than was held", () => request.received > KEPT * 2).then(() => {
        request.res.writeHead(429, { "content-type": "application/json", "retry-after": "7" });
        request.res.end('{"error":{"message":"busy","type":"x","param":null,"code":null}}');
      });
    };
    const two = [await engineThat(busy), await engineThat(busy)];
    await start(
      version,
      two.map(({ port }) => port),
    );
    const call = await open().ended();
    expect([call.status, call.headers["retry-after"], call.json]).toMatchObject([
      429,
      "7",
      { error: { message: "busy" } },
    ]);
    expect(two.flatMap(({ requests }) => requests)).toHaveLength(1);
  });

  test("while nothing was passed on, another engine is asked", async () => {
    const [closed, engine] = [await engineThat(), await engineThat()];
    const { port } = closed;
    await closed.stop();
    engines.shift();
    await start(version, [port, engine.port]);
    const whole = begun() + REST;
    for (const n of [1, 2, 3]) {
      const call = await client.ask({ body: whole }).ended();
      expect(call.status).toBe(200);
      expect(engine.requests.at(-1)?.sha256, String(n)).toBe(sha256(whole));
    }
  });

  test.each([
    { name: "an end that is no JSON", rest: '"}]]', status: 400, want: /is not the JSON object it should be/ },
    { name: "more after the end", rest: `${REST}{}`, status: 400, want: /more after the JSON's end/ },
    { name: "an end that is missing", rest: '"', status: 400, want: /ends too early/ },
    { name: "another model later", rest: '"}],"model":"x"}', status: 400, want: /a model a second time/ },
    { name: "another model, escaped", rest: '"}],"m\\u006fdel":"x"}', status: 400, want: /a model a second time/ },
    { name: "more than the limit", rest: text(512), status: 413, want: /limit of 512/ },
  ])("$name is $status, and the engine never has the whole", async ({ rest, status, want }) => {
    const engine = await engineThat();
    await start(version, [engine.port], { bodyBytes: bytes(512 * KIB) });
    const call = open();
    const request = await first(engine);
    call.write(rest);
    call.finish();
    await call.ended();
    expect([call.status, call.text]).toEqual([status, expect.stringMatching(want)]);
    await until("the engine's request cut", () => request.end === "cut");
    expect(await harness.logged({ code: status })).toMatchObject({ outcome: "refused" });
    expect(harness.logs.filter((line) => line["msg"] === "request")).toHaveLength(1);
  });

  test("one that stops coming is 400, and the engine is let go", async () => {
    const engine = await engineThat();
    await start(version, [engine.port], { uploadIdle: millis(200) });
    const call = open();
    const request = await first(engine);
    await call.ended();
    expect([call.status, request.end]).toEqual([400, "cut"]);
  });

  test("one that goes on slowly is no fault of the engine", async () => {
    const engine = await engineThat();
    await start(version, [engine.port], { firstByte: millis(300) });
    const call = open();
    await first(engine);
    for (let n = 0; n < 5; n++) {
      await new Promise((resolve) => setTimeout(resolve, 150));
      call.write(text(1));
    }
    call.write(REST);
    call.finish();
    expect((await call.ended()).status).toBe(200);
  });

  test("while it waits for an engine, its client does", async () => {
    const engine = await engineThat((request) => {
      if (engine.requests.length > 1) return;
      request.res.writeHead(200, { "content-type": "application/json" });
      request.res.write("{");
    });
    harness = await RouterHarness.start({
      ...tlsFor(version),
      limits: { tick: millis(20), keptBodyBytes: bytes(KEPT), headroom: 0 },
    });
    harness.slots = 1;
    await harness.serve({ m: [engine.port] });
    client = clientOf(version, harness.url);
    const before = client.ask({ body: '{"model":"m"}' });
    await before.waitFor("{");
    const call = open();
    await until("the queue", async () => (await harness.metric('llmgw_router_queue_depth{model="m"}')) === 1);
    for (let mib = 0; mib < 40; mib++) call.write(text(1_024));
    engine.requests[0]?.res.end("}");
    const request = await until("its turn", () => engine.requests[1]);
    expect(call.waiting).toBeGreaterThan(20 * KIB * KIB);
    call.write(REST);
    call.finish();
    await until("all of it", () => request.end === "whole");
    request.answer(200, "{}");
    expect((await call.ended()).status).toBe(200);
  });
});

describe("what is changed in a body that is passed on", () => {
  const LONG = `"messages":[{"role":"user","content":"${text(256)}"}]`;
  const counts = '{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}';
  const streaming = (request: ReadRequest): void => {
    request.res.writeHead(200, { "content-type": "text/event-stream" });
    const usage = /"include_usage": ?true/.test(request.text.slice(-200) + request.text.slice(0, 200));
    request.res.end(
      `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n${usage ? `data: ${counts}\n\n` : ""}data: [DONE]\n\n`,
    );
  };

  test.each([
    {
      name: "a stream, said first",
      body: `{"model":"m","stream":true,${LONG}}`,
      asks: { include_usage: true },
      hides: true,
    },
    {
      name: "a stream, said last",
      body: `{"model":"m",${LONG},"stream":true}`,
      asks: { include_usage: true },
      hides: true,
    },
    {
      name: "a stream with space behind it",
      body: `{"model":"m",${LONG},"stream":true}  \n`,
      asks: { include_usage: true },
      hides: true,
    },
    {
      name: "options before",
      body: `{"model":"m","stream_options":{"continuous_usage_stats":true},"stream":true,${LONG}}`,
      asks: { continuous_usage_stats: true, include_usage: true },
      hides: true,
    },
    {
      name: "options after",
      body: `{"model":"m",${LONG},"stream":true,"stream_options":{"include_usage":false,"x":[1]}}`,
      asks: { include_usage: true, x: [1] },
      hides: true,
    },
    {
      name: "a client that asks itself",
      body: `{"model":"m",${LONG},"stream":true,"stream_options":{"include_usage":true}}`,
      asks: { include_usage: true },
      hides: false,
    },
    {
      name: "no stream after all",
      body: `{"model":"m","stream":true,${LONG},"stream":false}`,
      asks: undefined,
      hides: true,
    },
    { name: "no stream", body: `{"model":"m",${LONG}}`, asks: undefined, hides: true },
  ])("counts are asked for and hidden: $name", async ({ body, asks, hides }) => {
    const engine = await engineThat((request) => {
      void until("all of it", () => request.end === "whole").then(() => {
        streaming(request);
      });
    });
    await start("HTTP/1.1", [engine.port]);
    const call = client.ask({ isOpen: true, body: body.slice(0, 128 * KIB) });
    await first(engine);
    call.write(body.slice(128 * KIB));
    call.finish();
    await call.ended();
    const got = JSON.parse(engine.requests[0]?.text ?? "") as Record<string, unknown>;
    expect(got["stream_options"]).toEqual(asks);
    expect(got["messages"]).toHaveLength(1);
    expect(call.text.includes('"usage"')).toBe(asks !== undefined && !hides);
    expect(call.text).toContain("[DONE]");
  });

  test("an alias' model is named in its place", async () => {
    const engine = await engineThat();
    await start("HTTP/1.1", []);
    harness.aliases = { chat: { targets: [{ model: "a-longer-name", weight: 1 }], fallback: [] } };
    await harness.serve({ "a-longer-name": [engine.port] });
    const whole = `{"model":"chat","input":"${text(256)}"}`;
    const call = await client
      .ask({ path: "/v1/embeddings", body: whole, headers: { "content-length": String(whole.length) } })
      .ended();
    expect(call.status).toBe(200);
    const [request] = engine.requests;
    expect(request?.text).toBe(whole.replace("chat", "a-longer-name"));
    expect(request?.headers["content-length"]).toBe(String(whole.length + 9));
  });

  test("B110 one that was compressed goes on decoded", async () => {
    const engine = await engineThat();
    await start("HTTP/1.1", [engine.port]);
    const whole = `{"model":"m","input":"${text(1_024)}"}`;
    const headers = { "content-encoding": "gzip" };
    const call = await client.ask({ path: "/v1/embeddings", body: gzipSync(whole), headers }).ended();
    expect(call.status).toBe(200);
    expect([engine.requests[0]?.sha256, engine.requests[0]?.headers["transfer-encoding"]]).toEqual([
      sha256(whole),
      "chunked",
    ]);
  });

  test.each([
    { name: "whose file comes last is passed on", order: ["model", "file"], isEarly: true },
    { name: "whose file comes first is held", order: ["file", "model"], isEarly: false },
  ])("a form $name, byte for byte", async ({ order, isEarly }) => {
    const engine = await engineThat();
    await start("HTTP/1.1", [engine.port]);
    const parts: Readonly<Record<string, string>> = {
      model: 'Content-Disposition: form-data; name="model"\r\n\r\nm\r\n',
      file: `Content-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n${text(512)}\r\n`,
    };
    const whole = `${order.map((name) => `--b\r\n${parts[name] ?? ""}`).join("")}--b--\r\n`;
    const headers = { "content-type": "multipart/form-data; boundary=b", "content-length": String(whole.length) };
    const call = client.ask({
      isOpen: true,
      path: "/v1/audio/transcriptions",
      headers,
      body: whole.slice(0, 300 * KIB),
    });
    await until("nothing waiting", () => call.waiting === 0);
    if (isEarly) await first(engine);
    else expect(engine.requests).toHaveLength(0);
    call.write(whole.slice(300 * KIB));
    call.finish();
    expect((await call.ended()).status).toBe(200);
    expect(engine.requests[0]?.sha256).toBe(sha256(whole));
  });
});
