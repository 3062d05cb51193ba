import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import type { RouterOptions } from "../../src/run/router.ts";
import { post, RawClient } from "../fakes/raw-client.ts";
import { RawUpstream, chunk, json, LAST_CHUNK, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

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

describe("what reaches the engine", () => {
  test("the body's bytes, its own key, and none of the client's secrets or of the connection's headers", async () => {
    const upstream = await start();
    const body = '{ "model" : "m", "x":"\\u00e9 北京" }\n';
    const client = await RawClient.connect(harness.url);
    client.send(
      post(
        body,
        [
          "Authorization: Bearer sk-client",
          "X-Api-Key: sk-client",
          "Cookie: a=b",
          "X-Conversation-Id: c1",
          "Connection: keep-alive, X-Hop",
          "X-Hop: 1",
          "Keep-Alive: timeout=5",
          "TE: trailers",
          "Proxy-Authorization: Basic xyz",
          "Origin: https://app.example",
          "Accept-Encoding: gzip",
          "anthropic-beta: tools-2026",
          "X-Request-Id: my-id_1.2",
          "",
        ].join("\r\n"),
        "/v1/chat/completions?beta=true",
      ),
    );
    const answer = await client.waitFor('{"ok":true}');
    const [request] = upstream.requests;
    expect(request?.body.toString()).toBe(body);
    const lines = request?.head.split("\r\n") ?? [];
    expect(lines[0]).toBe("POST /v1/chat/completions?beta=true HTTP/1.1");
    expect(lines.slice(1).toSorted()).toEqual([
      "Authorization: Bearer ek-secret",
      `Content-Length: ${String(Buffer.byteLength(body))}`,
      "Content-Type: application/json",
      `Host: 127.0.0.1:${String(upstream.port)}`,
      "X-Request-Id: my-id_1.2",
      "anthropic-beta: tools-2026",
    ]);
    expect(answer).toContain("x-request-id: my-id_1.2\r\n");
    expect(answer).toContain("x-llmgw-replica: m-0\r\n");
    expect(answer).toContain("x-llmgw-attempts: 1\r\n");
    client.close();
  });

  test("a request id that could forge a log line is replaced", async () => {
    await start();
    for (const id of ["a b", "x".repeat(129), "é"]) {
      const client = await RawClient.connect(harness.url);
      client.send(post('{"model":"m"}', `X-Request-Id: ${id}\r\n`));
      expect(await client.waitFor('{"ok":true}')).toMatch(/x-request-id: req_[\w-]+\r\n/);
      client.close();
    }
  });

  test.each([
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/rerank",
    "/tokenize",
    "/detokenize",
  ])("%s goes to the engine under its own path", async (path) => {
    const upstream = await start();
    expect((await harness.post({ model: "m" }, { path })).status).toBe(200);
    expect(upstream.requests[0]?.head).toMatch(new RegExp(`^POST ${path} `));
  });

  test("B96 a chunked body goes on with its length, and only that", async () => {
    const upstream = await start();
    const client = await RawClient.connect(harness.url);
    client.send("POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const piece of ['{"mod', 'el":', '"m"}']) client.send(chunk(piece));
    client.send(LAST_CHUNK);
    await client.waitFor('{"ok":true}');
    expect(upstream.requests[0]?.body.toString()).toBe('{"model":"m"}');
    expect(upstream.requests[0]?.head.match(/content-length|transfer-encoding/gi)).toEqual(["Content-Length"]);
    client.close();
  });
});

describe("what comes back", () => {
  test("B121 a redirect is neither relayed nor followed, and no header gives the engine away", async () => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(
      await RawUpstream.answering(
        "HTTP/1.1 302 Found\r\nLocation: http://10.0.0.5:40001/x?key=ek-1\r\nX-Api-Key: ek-secret\r\nSet-Cookie: a=b\r\nServer: x\r\nContent-Length: 0\r\n\r\n",
      ),
    );
    await harness.serve({ m: [upstream] });
    const response = await harness.post({ model: "m" }, { redirect: "manual" });
    expect(response.status).toBe(502);
    const text = JSON.stringify([...response.headers]) + (await response.text());
    expect(text).not.toMatch(/10\.0\.0\.5|ek-1|ek-secret|a=b|40001/);
    expect(upstream.requests).toHaveLength(1);
  });

  test("B121 headers of a good answer: what names the engine or holds its key stays here, the rest passes", async () => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(
      await RawUpstream.answering(() =>
        json(
          "{}",
          `Server: llama.cpp\r\nX-Powered-By: x\r\nX-Api-Key: k\r\nX-Echo: Bearer ek-secret\r\nX-Where: http://127.0.0.1:${String(upstream.port)}/\r\n` +
            "Set-Cookie: a=b\r\nAccess-Control-Allow-Origin: *\r\nX-Request-Id: r1\r\nopenai-processing-ms: 5\r\nX-LLMGW-Replica: forged\r\n",
        ),
      ),
    );
    await harness.serve({ m: [upstream] });
    const { headers } = await harness.post({ model: "m" });
    const names = [...headers.keys()];
    for (const name of [
      "server",
      "x-powered-by",
      "x-api-key",
      "x-echo",
      "x-where",
      "set-cookie",
      "access-control-allow-origin",
    ]) {
      expect(names).not.toContain(name);
    }
    expect(headers.get("openai-processing-ms")).toBe("5");
    expect(headers.get("x-request-id")).toMatch(/^req_/);
    expect(headers.get("x-llmgw-replica")).toBe("m-0");
  });

  test.each([
    [400, '{"error":{"message":"no","type":"invalid_request_error","param":null,"code":null},"more":1}'],
    [500, "{}"],
    [501, ""],
  ])("an engine's own %d passes with its body", async (status, body) => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(
      await RawUpstream.answering(
        `HTTP/1.1 ${String(status)} X\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
      ),
    );
    await harness.serve({ m: [upstream] });
    const response = await harness.post({ model: "m" });
    expect([response.status, await response.text()]).toEqual([status, body]);
    expect(response.headers.get("x-should-retry")).toBe(status === 501 ? "false" : null);
    expect(await harness.metric(`llmgw_router_requests_total{model="m",code="${String(status)}"}`)).toBe(1);
  });

  test.each([
    [
      400,
      '{"error":{"message":"too long","type":"exceed_context_size_error","code":400,"n_ctx":9}}',
      { n_ctx: 9, message: "too long", type: "invalid_request_error", param: null, code: "context_length_exceeded" },
    ],
    [404, "Not here", { message: "Not here", type: "invalid_request_error", param: null, code: null }],
    [500, '{"detail":"no"}', { message: "no", type: "server_error", param: null, code: null }],
  ])("an engine's %d in another shape is put into the client's", async (status, body, want) => {
    harness = await RouterHarness.start();
    const head = `HTTP/1.1 ${String(status)} X\r\nContent-Type: text/x\r\nContent-Length: ${String(body.length)}`;
    const upstream = harness.adopt(await RawUpstream.answering(`${head}\r\n\r\n${body}`));
    await harness.serve({ m: [upstream] });
    const response = await harness.post({ model: "m" });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      status,
      "application/json; charset=utf-8",
    ]);
    expect(await errorOf(response)).toEqual(want);
  });

  test.each([
    ["5", "5"],
    ["99999999", "60"],
    ["inf", null],
    ["-3", null],
    ["", null],
  ])("B129 an engine's Retry-After of %j is told as %j", async (given, want) => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(
      await RawUpstream.answering(`HTTP/1.1 429 X\r\nRetry-After: ${given}\r\nContent-Length: 2\r\n\r\n{}`),
    );
    await harness.serve({ m: [upstream] });
    const response = await harness.post({ model: "m" });
    expect([response.status, response.headers.get("retry-after")]).toEqual([429, want]);
  });

  test.each([
    ["B109 a length and a Trailer header", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTrailer: x-t\r\n\r\nok"],
    ["B109 chunks and trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-t: 1\r\n\r\n"],
    [
      "an interim answer first",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    ],
  ])("%s: the client gets ok", async (_name, answer) => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(await RawUpstream.answering(answer));
    await harness.serve({ m: [upstream] });
    for (let n = 0; n < 2; n++) {
      const response = await harness.post({ model: "m" });
      expect([response.status, await response.text()]).toEqual([200, "ok"]);
    }
    // Its end was seen, so the connection was good for the second request.
    expect(upstream.connections).toHaveLength(1);
  });

  test("B113 the rest of an answer that was cut is never taken for the next one", async () => {
    harness = await RouterHarness.start({ limits: { tick: millis(20) } });
    const upstream = harness.adopt(
      await RawUpstream.onRequest(async (connection, request) => {
        const isStream = request.body.includes("stream");
        if (!isStream) {
          await connection.write(json(request.body.toString()));
          return;
        }
        await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), chunk("data: 1\n\n")]));
        // The rest comes when the router has already turned away.
        await Promise.race([connection.closed, new Promise((resolve) => setTimeout(resolve, 5))]);
        await Promise.race([
          connection.closed,
          connection.write(Buffer.concat([chunk("data: 2\n\n"), Buffer.from(LAST_CHUNK)])),
        ]);
      }),
    );
    await harness.serve({ m: [upstream] });
    for (let n = 0; n < 100; n++) {
      const client = await RawClient.connect(harness.url);
      client.send(post('{"model":"m","stream":true}'));
      await client.waitFor("data: 1");
      client.close();
      const body = `{"model":"m","n":${String(n)}}`;
      expect(await (await harness.post(body)).text()).toBe(body);
    }
  });
});
