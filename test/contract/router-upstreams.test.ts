import { afterEach, describe, expect, test } from "vitest";
import { profileName, replicaId } from "../../src/core/ids.ts";
import { chunk, json, LAST_CHUNK, RawUpstream, STREAM_HEAD } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";
import { upstreamRoute, type Where } from "../fakes/upstream-route.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

const serve = (where: Where): Promise<void> => harness.serve({ big: [where.port] }, upstreamRoute(where));

const headLines = (head: string | undefined): readonly string[] => (head ?? "").split("\r\n");

describe("an upstream is asked", () => {
  test("at its own path, by its own name for the model, with its own key and little of what the client said", async () => {
    harness = await RouterHarness.start();
    harness.cluster = "here";
    const upstream = harness.adopt(await RawUpstream.answering(json('{"ok":true}')));
    await serve({ port: upstream.port, base: "/api/v1", engineModel: "org/Big-1" });
    const answer = await harness.post('{ "x": "big", "model" : "b\\u0069g" }', {
      path: "/v1/embeddings?api-version=2",
      headers: {
        authorization: "Bearer sk-llmgw-client",
        "x-forwarded-for": "10.1.1.1",
        "openai-organization": "org-1",
        "x-conversation-id": "c",
        "anthropic-beta": "b1",
        cookie: "session=1",
        "x-llmgw-via": "there",
      },
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-llmgw-replica")).toBe("upstream/cloud");
    const [asked] = upstream.requests;
    expect(String(asked?.body)).toBe('{ "x": "big", "model" : "org/Big-1" }');
    const [line, ...lines] = headLines(asked?.head);
    expect(line).toBe("POST /api/v1/embeddings?api-version=2 HTTP/1.1");
    expect(lines).toContain("Authorization: Bearer sk-of-the-upstream");
    expect(lines).toContain("x-llmgw-via: there, here");
    expect(lines).toContain("anthropic-beta: b1");
    expect(lines.map((one) => one.split(":")[0]?.toLowerCase()).toSorted()).toEqual([
      ...["accept", "accept-language", "anthropic-beta", "authorization", "content-length", "content-type", "host"],
      ...["user-agent", "x-llmgw-via", "x-request-id"],
    ]);
  });

  test("and of its answer's headers only those come back that say what the body is", async () => {
    harness = await RouterHarness.start();
    const extra =
      "Server: x\r\nSet-Cookie: a=b\r\nStrict-Transport-Security: max-age=9\r\nX-Ratelimit-Limit-Requests: 7\r\n" +
      "Openai-Organization: org-1\r\nCf-Ray: 1\r\nX-Request-Id: theirs\r\nRetry-After: 3\r\n";
    const upstream = harness.adopt(await RawUpstream.answering(json('{"ok":true}', extra)));
    await serve({ port: upstream.port });
    const answer = await harness.post({ model: "big", messages: [] }, { headers: { "x-request-id": "mine" } });
    const names = [...answer.headers.keys()].filter((name) => name !== "date" && name !== "connection");
    expect(names.toSorted()).toEqual([
      ...["content-length", "content-type", "keep-alive", "retry-after", "x-llmgw-attempts", "x-llmgw-replica"],
      "x-request-id",
    ]);
    expect(answer.headers.get("x-request-id")).toBe("mine");
  });

  test("a form names the model as the upstream does, and its file is as it was", async () => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(await RawUpstream.answering(json('{"text":"hi"}')));
    await serve({ port: upstream.port, engineModel: "whisper-large-v3" });
    const part = (head: string, value: string): string =>
      `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${value}\r\n`;
    const form = (model: string): string =>
      `${part('name="file"; filename="big.wav"', "big\0\r\n--X")}${part('name="model"', model)}--XX--\r\n`;
    const answer = await harness.post(form("big"), {
      path: "/v1/audio/transcriptions",
      headers: { "content-type": "multipart/form-data; boundary=XX" },
    });
    expect(answer.status).toBe(200);
    expect(String(upstream.requests[0]?.body)).toBe(form("whisper-large-v3"));
  });

  test("in chat for messages that it has no path for, and only once for both", async () => {
    harness = await RouterHarness.start();
    const none = '{"error":{"message":"Invalid URL (POST /v1/messages)","type":"invalid_request_error"}}';
    const missing = `HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: ${String(none.length)}\r\n\r\n${none}`;
    const chat = json(
      '{"id":"c","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}',
    );
    const upstream = harness.adopt(
      await RawUpstream.answering(({ head }) => (head.startsWith("POST /v1/chat/completions ") ? chat : missing)),
    );
    await serve({ port: upstream.port, engineModel: "org/Big-1" });
    const messages = [{ role: "user", content: "hi" }];
    for (let turn = 0; turn < 2; turn++) {
      const answer = await harness.post({ model: "big", max_tokens: 5, messages }, { path: "/v1/messages" });
      expect(await answer.json()).toMatchObject({ type: "message", content: [{ type: "text", text: "hello" }] });
    }
    const responses = await harness.post({ model: "big", input: "hi" }, { path: "/v1/responses" });
    expect(await responses.json()).toMatchObject({ object: "response", status: "completed" });
    const paths = upstream.requests.map(({ head }) => head.split(" ")[1]);
    expect(paths).toEqual([
      ...["/v1/messages", "/v1/chat/completions", "/v1/chat/completions"],
      ...["/v1/responses", "/v1/chat/completions"],
    ]);
    expect(upstream.requests.every(({ body }) => String(body).includes('"model":"org/Big-1"'))).toBe(true);
  });

  test("no more often at once than is set for it; who comes later waits", async () => {
    harness = await RouterHarness.start();
    const holding = await RawUpstream.holding();
    const upstream = harness.adopt(holding.engine);
    await serve({ port: upstream.port, slots: 2 });
    const asked = Array.from({ length: 3 }, () => harness.post({ model: "big", stream: true, messages: [] }));
    await Promise.all(asked.slice(0, 2));
    await expect.poll(() => harness.metric('llmgw_router_queue_depth{model="big"}')).toBe(1);
    expect(upstream.requests).toHaveLength(2);
    holding.finish();
    for (const answer of await Promise.all(asked)) expect(await answer.text()).toContain("[DONE]");
    expect(upstream.requests).toHaveLength(3);
  });
});

describe("an upstream that fails", () => {
  const status = (line: string, extra = ""): string => `HTTP/1.1 ${line}\r\nContent-Length: 0\r\n${extra}\r\n`;

  test.each([
    ["takes no connection", undefined, 502, "The upstream cannot be reached (upstream/cloud: ECONNREFUSED)"],
    [
      "does not know the key",
      status("401 Unauthorized", 'WWW-Authenticate: Bearer realm="sk-of-the-upstream"\r\n'),
      ...([502, "The upstream does not accept the key that it is asked with (upstream/cloud: 401)"] as const),
    ],
    ["redirects", status("301 Moved", "Location: http://127.0.0.1:1/\r\n"), 502, "it redirects with 301"],
    ["speaks no HTTP", "SSH-2.0-x\r\n", 502, "The upstream's answer is not usable"],
    ["says nothing", json(""), 502, "its answer is empty"],
  ])("%s", async (_, bytes, want, sentence) => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(await RawUpstream.answering(bytes ?? ""));
    if (bytes === undefined) await upstream.stop();
    await serve({ port: upstream.port });
    const answer = await harness.post({ model: "big", messages: [] });
    expect(answer.status).toBe(want);
    const { message } = await errorOf(answer);
    expect(message).toContain(sentence);
    expect(message).not.toContain("sk-of-the-upstream");
  });

  test("is left alone for a moment, and asked again", async () => {
    harness = await RouterHarness.start();
    const down = harness.adopt(await RawUpstream.answering(""));
    await down.stop();
    await serve({ port: down.port });
    expect((await harness.post({ model: "big", messages: [] })).status).toBe(502);
    const aside = await harness.post({ model: "big", messages: [] });
    expect([aside.status, aside.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await errorOf(aside)).message).toContain("its upstream failed lately");
    harness.adopt(await RawUpstream.answering(json('{"ok":true}'), down.port));
    const ask = async () => (await harness.post({ model: "big", messages: [] })).status;
    await expect.poll(ask, { timeout: 10_000 }).toBe(200);
  });

  test("too many requests there are too many here, with its own words and its wish", async () => {
    harness = await RouterHarness.start();
    const body =
      '{"error":{"message":"slow down","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}';
    const head = `HTTP/1.1 429 Too Many\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n`;
    const upstream = harness.adopt(await RawUpstream.answering(`${head}Retry-After: 7\r\n\r\n${body}`));
    await serve({ port: upstream.port });
    const answer = await harness.post({ model: "big", messages: [] });
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "7"]);
    expect(await answer.text()).toBe(body);
  });

  test("in the middle of a stream ends it with an error: nobody else goes on with it; what came is counted", async () => {
    harness = await RouterHarness.start();
    const upstream = harness.adopt(
      await RawUpstream.onRequest(async (connection) => {
        await connection.write(STREAM_HEAD);
        await connection.write(chunk('data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n'));
        connection.reset();
      }),
    );
    await serve({ port: upstream.port });
    const answer = await harness.post({ model: "big", stream: true, messages: [{ role: "user", content: "hi" }] });
    const text = await answer.text();
    expect(text).toContain("half");
    expect(text).toContain("(upstream/cloud: ECONNRESET)");
    expect(text).not.toContain("[DONE]");
    expect(upstream.requests).toHaveLength(1);
    await harness.idle();
    expect(await harness.metric('llmgw_router_tokens_total{model="big",kind="completion"}')).toBe(1);
  });
});

test("a stream is made to count, and the counts are taken out where nobody asked for them", async () => {
  harness = await RouterHarness.start();
  const upstream = harness.adopt(
    await RawUpstream.onRequest(async (connection) => {
      await connection.write(STREAM_HEAD);
      await connection.write(
        chunk('data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n'),
      );
      await connection.write(chunk('data: {"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7}}\n\n'));
      await connection.write(Buffer.concat([chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
    }),
  );
  await serve({ port: upstream.port, engineModel: "org/Big-1" });
  const text = await (await harness.post('{"model":"big","stream":true}')).text();
  expect(text).not.toContain("usage");
  expect(String(upstream.requests[0]?.body)).toBe(
    '{"model":"org/Big-1","stream":true,"stream_options":{"include_usage":true}}',
  );
  await harness.idle();
  const tokens = (kind: string) => harness.metric(`llmgw_router_tokens_total{model="big",kind="${kind}"}`);
  expect([await tokens("prompt"), await tokens("completion")]).toEqual([11, 7]);
  expect(await harness.logged({ replica: "upstream/cloud" })).toMatchObject({ model: "big", outcome: "complete" });
});

describe("a circle", () => {
  test("an upstream that is this very router is found out at the first round", async () => {
    harness = await RouterHarness.start();
    harness.cluster = "here";
    await serve({ port: Number(new URL(harness.url).port) });
    const answer = await harness.post({ model: "big", messages: [] });
    expect([answer.status, answer.headers.get("x-should-retry")]).toEqual([508, "false"]);
    const error = await errorOf(answer);
    expect(error).toMatchObject({ type: "invalid_request_error", code: "loop_detected" });
    expect(error.message).toContain("leads back to its own router");
    await harness.idle();
    expect(await harness.metric('llmgw_router_requests_total{model="big",code="508"}')).toBe(1);
  });

  test("and in the words of who asks", async () => {
    harness = await RouterHarness.start();
    harness.cluster = "here";
    await harness.serve({ m: [] });
    const options = { path: "/v1/messages", headers: { "x-llmgw-via": "a, here" } };
    const answer = await harness.post({ model: "m", max_tokens: 1, messages: [] }, options);
    expect([answer.status, await answer.json()]).toMatchObject([508, { type: "error", error: { type: "api_error" } }]);
  });

  test("engines are not told the way", async () => {
    const started = await RouterHarness.answering();
    harness = started.harness;
    await (await harness.post({ model: "m", messages: [] }, { headers: { "x-llmgw-via": "a" } })).text();
    expect(started.upstream.requests[0]?.head.toLowerCase()).not.toContain("x-llmgw-via");
  });
});

test("an alias goes over to an upstream when its own model cannot answer, and back", async () => {
  harness = await RouterHarness.start();
  const [own, cloud] = [
    harness.adopt(await RawUpstream.answering(json('{"at":"home"}'))),
    harness.adopt(await RawUpstream.answering(json('{"at":"cloud"}'))),
  ];
  const table = async (isUp: boolean): Promise<void> => {
    const base = { created: 1, waitSeconds: 0 };
    const replica = { id: replicaId("own-1"), host: "127.0.0.1", port: own.port, apiKey: "k", slots: 4 };
    const waitingFor = isUp ? "" : "own-1 is starting";
    const mine = { ...base, name: "own", profile: profileName("own"), replicas: isUp ? [replica] : [], waitingFor };
    const theirs = {
      ...base,
      name: "big",
      waitingFor: "",
      ...upstreamRoute({ port: cloud.port, engineModel: "org/Big-1" }),
    };
    const alias = { targets: [{ model: "own", weight: 1 }], fallback: ["big"] };
    const named = { ...base, name: "chat", profile: profileName(""), replicas: [], waitingFor: "", alias };
    await harness.push([mine, { replicas: [], profile: profileName(""), ...theirs }, named]);
  };
  const ask = async (): Promise<unknown> => (await harness.post({ model: "chat", messages: [] })).json();
  await table(false);
  expect(await ask()).toEqual({ at: "cloud" });
  expect(String(cloud.requests[0]?.body)).toContain('"model":"org/Big-1"');
  await table(true);
  expect(await ask()).toEqual({ at: "home" });
  await own.stop();
  // That its own replica is gone is found out by asking it; the client does not notice.
  const answer = await harness.post({ model: "chat", messages: [] });
  expect([answer.headers.get("x-llmgw-replica"), answer.headers.get("x-llmgw-attempts")]).toEqual([
    "upstream/cloud",
    "2",
  ]);
  expect(await ask()).toEqual({ at: "cloud" });
});
