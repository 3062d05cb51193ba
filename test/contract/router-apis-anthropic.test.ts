import { afterEach, describe, expect, test } from "vitest";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { EngineApi } from "../../src/core/engine-api.ts";
import { millis } from "../../src/core/ids.ts";
import { answer, begun, delta, END, THINKS_AND_CALLS } from "../fakes/chat-bytes.ts";
import {
  type Answering,
  json,
  LAST_CHUNK,
  RawUpstream,
  type ReceivedRequest,
  STREAM_HEAD,
} from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

async function start(apis: readonly EngineApi[] | undefined, answering: Answering) {
  harness = await RouterHarness.start({ limits: { tick: millis(20), streamComment: millis(60) } });
  harness.apis = apis;
  const upstream = harness.adopt(await RawUpstream.answering(answering));
  await harness.serve({ m: [upstream] });
  return upstream;
}

const anthropic = (): Anthropic => new Anthropic({ baseURL: harness.url, apiKey: "x", maxRetries: 0 });
const openai = (): OpenAI => new OpenAI({ baseURL: `${harness.url}/v1`, apiKey: "x", maxRetries: 0 });
const bodyOf = (request: ReceivedRequest | undefined): unknown => JSON.parse(request?.body.toString() ?? "");
const pathsOf = (upstream: RawUpstream): readonly unknown[] =>
  upstream.requests.map(({ head: text }) => text.split(" ")[1]);

const messages = [{ role: "user" as const, content: "Weather in Paris?" }];
const TOOL = { name: "weather", input_schema: { type: "object" as const, properties: { city: { type: "string" } } } };
const ASK = { model: "m", max_tokens: 50, messages };

describe("Messages, for an engine that has chat alone", () => {
  test("an answer", async () => {
    const upstream = await start(["chat"], answer({ role: "assistant", content: "Mild." }));
    const message = await anthropic().messages.create({ ...ASK, system: "Be short.", stop_sequences: ["END"] });
    expect(message).toMatchObject({
      id: "msg_1",
      content: [{ type: "text", text: "Mild." }],
      stop_reason: "end_turn",
      usage: { input_tokens: 5, cache_read_input_tokens: 15, output_tokens: 7 },
    });
    expect(pathsOf(upstream)).toEqual(["/v1/chat/completions"]);
    expect(bodyOf(upstream.requests[0])).toEqual({
      model: "m",
      max_tokens: 50,
      messages: [{ role: "system", content: "Be short." }, ...messages],
      stop: ["END"],
    });
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="completion"}')).toBe(7);
  });

  test("a stream with thoughts and a call", async () => {
    await start(["chat"], THINKS_AND_CALLS);
    const stream = anthropic().messages.stream({
      ...ASK,
      thinking: { type: "enabled", budget_tokens: 1024 },
      tools: [TOOL],
    });
    const texts: string[] = [];
    stream.on("text", (text) => texts.push(text));
    const message = await stream.finalMessage();
    expect(texts).toEqual(["Let me look."]);
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "Let me look." },
      { type: "tool_use", id: "call_1", name: "weather", input: { city: "Paris" } },
    ]);
    expect([message.stop_reason, message.usage.input_tokens, message.usage.output_tokens]).toEqual(["tool_use", 5, 7]);
    expect(await harness.metric('llmgw_router_requests_total{model="m",code="200"}')).toBe(1);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="cached"}')).toBe(15);
  });

  test("each event comes with the engine's own", async () => {
    harness = await RouterHarness.start();
    harness.apis = ["chat"];
    let more: (() => Promise<void>) | undefined;
    const upstream = await RawUpstream.onRequest(async (connection) => {
      await connection.write(begun(delta({ content: "a" })));
      more = () => connection.write(Buffer.concat([delta({ content: "b" }), delta({}, "stop"), END]));
    });
    await harness.serve({ m: [harness.adopt(upstream)] });
    const texts: string[] = [];
    for await (const part of anthropic().messages.stream(ASK)) {
      if (part.type !== "content_block_delta" || part.delta.type !== "text_delta") continue;
      texts.push(part.delta.text);
      await more?.();
      more = undefined;
    }
    expect(texts).toEqual(["a", "b"]);
  });

  test("a silent stream shows that it lives with pings", async () => {
    harness = await RouterHarness.start({ limits: { tick: millis(10), streamComment: millis(30) } });
    harness.apis = ["chat"];
    let finish: (() => Promise<void>) | undefined;
    const upstream = await RawUpstream.onRequest(async (connection) => {
      await connection.write(STREAM_HEAD);
      finish = () => connection.write(Buffer.concat([delta({ content: "a" }), delta({}, "stop"), END]));
    });
    await harness.serve({ m: [harness.adopt(upstream)] });
    const response = await harness.post({ ...ASK, stream: true }, { path: "/v1/messages" });
    const reader = (response.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes('event: ping\ndata: {"type": "ping"}\n\n')) text += (await reader.read()).value ?? "";
    await finish?.();
    for (let read = await reader.read(); !read.done; read = await reader.read()) text += read.value;
    expect(text.replaceAll(/event: ping\ndata: .*\n\n/g, "")).toMatch(
      /^event: message_start\n[^]*event: message_stop\n/,
    );
  });

  test("an engine that dies in mid-stream is an error event in Anthropic's shape", async () => {
    const upstream = await start(["chat"], begun(delta({ content: "a" })));
    const seen: string[] = [];
    const failure = await (async () => {
      for await (const part of await anthropic().messages.create({ ...ASK, stream: true })) {
        seen.push(part.type);
        if (part.type === "content_block_delta") upstream.reset();
      }
    })().catch((error: unknown) => error);
    expect(seen).toEqual(["message_start", "content_block_start", "content_block_delta"]);
    expect(failure).toBeInstanceOf(Anthropic.APIError);
    expect(failure).toMatchObject({ error: { type: "error", error: { type: "api_error" } } });
    expect(await harness.logged({ outcome: "broke", code: 502 })).toMatchObject({ path: "/v1/messages" });
  });

  test("B80 a stream that ends before its answer does is an error too, and counts as one", async () => {
    await start(["chat"], begun(delta({ content: "a" }), Buffer.from(LAST_CHUNK)));
    await expect(anthropic().messages.stream(ASK).finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
    expect(await harness.logged({ outcome: "truncated" })).toMatchObject({ code: 502 });
  });

  test("an answer that breaks before it is whole is asked of another replica", async () => {
    harness = await RouterHarness.start();
    harness.apis = ["chat"];
    const script = (first: boolean) =>
      first ? "HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{" : answer({ content: "Mild." });
    let asked = 0;
    const make = () =>
      RawUpstream.onRequest(async (connection) => {
        asked += 1;
        const isFirst = asked === 1;
        await connection.write(script(isFirst));
        if (isFirst) connection.reset();
      });
    await harness.serve({ m: [harness.adopt(await make()), harness.adopt(await make())] });
    const { data, response } = await anthropic().messages.create(ASK).withResponse();
    expect(data.content).toMatchObject([{ text: "Mild." }]);
    expect(response.headers.get("x-llmgw-attempts")).toBe("2");
  });

  test.each<[string, string | Buffer, number, string]>([
    ["an engine's refusal", engineError(400, "no such field"), 400, "invalid_request_error"],
    ["an engine's bug", engineError(500, "oops"), 500, "api_error"],
    ["an answer that is none", json("[]"), 502, "api_error"],
    ["an error in a 200", json('{"error":{"message":"oops"}}'), 502, "api_error"],
  ])("%s is in Anthropic's shape", async (_name, bytes, status, type) => {
    await start(["chat"], bytes);
    const failure = await anthropic()
      .messages.create(ASK)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ status, type, requestID: expect.stringMatching(/^req_/) as string });
  });

  test("what cannot be said is refused with its place, and nothing is asked", async () => {
    const upstream = await start(["chat"], answer({ content: "x" }));
    const failure = await anthropic()
      .messages.create({ ...ASK, tools: [{ type: "web_search_20250305", name: "web_search" }] })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Anthropic.BadRequestError);
    expect(failure).toMatchObject({ message: expect.stringContaining("tools.0") as string });
    expect(upstream.requests).toHaveLength(0);
  });

  test("a string that is malformed is no JSON", async () => {
    await start(["chat"], answer({ content: "x" }));
    const response = await harness.post('{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"\\x"}]}', {
      path: "/v1/messages",
    });
    expect([response.status, (await errorOf(response)).type]).toEqual([400, "invalid_request_error"]);
  });

  test("half a surrogate pair goes on as it came", async () => {
    const upstream = await start(["chat"], answer({ content: "x" }));
    const body = '{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"\\ud83d"}]}';
    expect((await harness.post(body, { path: "/v1/messages" })).status).toBe(200);
    expect(upstream.requests[0]?.body.toString()).toContain(String.raw`"\ud83d"`);
  });
});

function engineError(status: number, message: string): string {
  const body = JSON.stringify({ error: { code: status, message, type: "server_error" } });
  return `HTTP/1.1 ${String(status)} X\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`;
}

describe("Messages, for an engine that speaks them", () => {
  test("go on as they came: query, headers and fields that nobody here knows", async () => {
    const native = json('{"type":"message","content":[]}');
    const upstream = await start(["chat", "messages"], native);
    const body = '{ "model":"m", "max_tokens":1,"messages":[], "future":{"a":1} }';
    const headers = { "anthropic-version": "2023-06-01", "anthropic-beta": "x-1" };
    await harness.post(body, { path: "/v1/messages?beta=true", headers });
    expect(pathsOf(upstream)).toEqual(["/v1/messages?beta=true"]);
    expect(upstream.requests[0]?.body.toString()).toBe(body);
    expect(upstream.requests[0]?.head).toMatch(/anthropic-beta: x-1/i);
  });

  test("an error in Anthropic's own words is not touched", async () => {
    const body =
      '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_theirs"}';
    await start(["messages"], `HTTP/1.1 529 X\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`);
    const response = await harness.post(ASK, { path: "/v1/messages" });
    expect([response.status, await response.text()]).toEqual([529, body]);
  });

  test("an older build that has no such path is asked as chat, and from then on at once", async () => {
    const upstream = await start(["chat", "messages"], ({ head: text }) =>
      text.startsWith("POST /v1/messages") ? engineError(404, "File Not Found") : answer({ content: "Mild." }),
    );
    for (let n = 0; n < 2; n++)
      expect((await anthropic().messages.create(ASK)).content).toMatchObject([{ text: "Mild." }]);
    expect(pathsOf(upstream)).toEqual(["/v1/messages", "/v1/chat/completions", "/v1/chat/completions"]);
  });

  test("that there is no such model is no reason to ask again", async () => {
    const upstream = await start(["chat", "messages"], engineError(404, "The model `m` does not exist."));
    await expect(anthropic().messages.create(ASK)).rejects.toBeInstanceOf(Anthropic.NotFoundError);
    expect(pathsOf(upstream)).toEqual(["/v1/messages"]);
  });
});

describe("counting the tokens of a prompt", () => {
  const count = () => anthropic().messages.countTokens({ model: "m", messages, system: "Be short.", tools: [TOOL] });

  test("by an engine that has the path", async () => {
    const upstream = await start(["messages-count"], json('{"input_tokens":9}'));
    expect(await count()).toEqual({ input_tokens: 9 });
    expect(pathsOf(upstream)).toEqual(["/v1/messages/count_tokens"]);
  });

  test("by a tokenizer that takes messages", async () => {
    const upstream = await start(["chat", "tokenize-chat"], json('{"count":9,"max_model_len":99,"tokens":[1]}'));
    expect(await count()).toEqual({ input_tokens: 9 });
    expect(pathsOf(upstream)).toEqual(["/tokenize"]);
    expect(bodyOf(upstream.requests[0])).toMatchObject({
      model: "m",
      messages: [{ role: "system", content: "Be short." }, ...messages],
      tools: [{ type: "function", function: { name: "weather" } }],
    });
  });

  test("by a template and a tokenizer that takes texts, one after the other", async () => {
    const upstream = await start(["apply-template", "tokenize"], ({ head: text }) =>
      json(text.includes("/apply-template") ? '{"prompt":"<s>hi"}' : '{"tokens":[1,2,3]}'),
    );
    expect(await count()).toEqual({ input_tokens: 3 });
    expect(pathsOf(upstream)).toEqual(["/apply-template", "/tokenize"]);
    expect(bodyOf(upstream.requests[1])).toMatchObject({ content: "<s>hi", parse_special: true });
    expect(await openai().responses.inputTokens.count({ model: "m", input: "hi" })).toMatchObject({ input_tokens: 3 });
  });

  test("by nothing", async () => {
    await start(["chat"], json("{}"));
    await expect(count()).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  });
});
