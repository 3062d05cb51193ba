import { afterEach, describe, expect, test } from "vitest";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { EngineApi } from "../../src/core/engine-api.ts";
import { answer, begun, delta, THINKS_AND_CALLS } from "../fakes/chat-bytes.ts";
import { type Answering, chunk, json, RawUpstream, type ReceivedRequest } from "../fakes/raw-upstream.ts";
import { errorOf, RouterHarness } from "../fakes/router-harness.ts";

let harness: RouterHarness;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

async function start(apis: readonly EngineApi[] | undefined, answering: Answering) {
  harness = await RouterHarness.start();
  harness.apis = apis;
  const upstream = harness.adopt(await RawUpstream.answering(answering));
  await harness.serve({ m: [upstream] });
  return upstream;
}

const anthropic = (): Anthropic => new Anthropic({ baseURL: harness.url, apiKey: "x", maxRetries: 0 });
const openai = (): OpenAI => new OpenAI({ baseURL: `${harness.url}/v1`, apiKey: "x", maxRetries: 0 });
const bodyOf = (request: ReceivedRequest | undefined): unknown => JSON.parse(request?.body.toString() ?? "");

const TOOL = { name: "weather", input_schema: { type: "object" as const, properties: { city: { type: "string" } } } };

describe("Responses, for an engine that has chat alone", () => {
  test("an answer", async () => {
    const upstream = await start(["chat"], answer({ content: "Mild." }));
    const response = await openai().responses.create({ model: "m", input: "Weather?", instructions: "Be short." });
    expect(response).toMatchObject({ id: "resp_1", status: "completed", output_text: "Mild." });
    expect(response.usage).toMatchObject({ input_tokens: 20, output_tokens: 7, total_tokens: 27 });
    expect(bodyOf(upstream.requests[0])).toMatchObject({
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "Weather?" },
      ],
    });
  });

  test("a stream with thoughts and a call, gathered by the SDK", async () => {
    await start(["chat"], THINKS_AND_CALLS);
    const stream = openai().responses.stream({
      model: "m",
      input: "Weather?",
      tools: [{ type: "function", name: "weather", strict: false, parameters: TOOL.input_schema }],
    });
    const response = await stream.finalResponse();
    expect(response.output).toMatchObject([
      { type: "reasoning", content: [{ type: "reasoning_text", text: "hm" }] },
      { type: "message", content: [{ type: "output_text", text: "Let me look." }] },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Paris"}' },
    ]);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="prompt"}')).toBe(20);
  });

  test("an engine that dies in mid-stream: the response has failed, and the SDK throws", async () => {
    const upstream = await start(["chat"], begun(delta({ content: "a" })));
    const seen: string[] = [];
    const failure = await (async () => {
      for await (const part of await openai().responses.create({ model: "m", input: "x", stream: true })) {
        seen.push(part.type);
        if (part.type === "response.output_text.delta") upstream.reset();
      }
    })().catch((error: unknown) => error);
    expect(seen.at(-1)).toBe("response.failed");
    expect(failure).toBeInstanceOf(OpenAI.APIError);
  });

  test.each<[string, readonly EngineApi[]]>([
    ["has chat alone", ["chat"]],
    ["keeps its answers: the next request can meet another engine", ["responses"]],
  ])("one that goes on from an earlier answer is refused, also where the engine %s", async (_name, apis) => {
    await start(apis, answer({ content: "x" }));
    const failure = await openai()
      .responses.create({ model: "m", input: "x", previous_response_id: "resp_0" })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError);
    expect(failure).toMatchObject({ code: "previous_response_not_supported", param: "previous_response_id" });
  });

  test("of an engine that speaks them, an engine that breaks ends the stream with their error event", async () => {
    const upstream = await start(
      ["responses"],
      begun(chunk('event: response.created\ndata: {"type":"response.created"}\n\n')),
    );
    const response = await harness.post({ model: "m", input: "x", stream: true }, { path: "/v1/responses" });
    upstream.reset();
    expect(await response.text()).toMatch(
      /\n\nevent: error\ndata: \{"type":"error",.*"code":"engine_unavailable".*\}\n\n$/,
    );
  });
});

describe("paths beside the text", () => {
  test("what an engine does not have is refused, and said so", async () => {
    const upstream = await start(["chat"], json("{}"));
    for (const path of ["/v1/images/generations", "/v1/audio/speech", "/v1/rerank", "/tokenize"]) {
      const response = await harness.post({ model: "m" }, { path });
      expect([response.status, (await errorOf(response)).code]).toEqual([404, "unsupported_endpoint"]);
    }
    expect(upstream.requests).toHaveLength(0);
  });

  test("sound goes to the engine as it came, by the model that its form names", async () => {
    const upstream = await start(["transcriptions"], json('{"text":"hello"}'));
    const sound = Buffer.alloc(300_000, "\r\n--x");
    const file = new File([sound], "a.wav", { type: "audio/wav" });
    const { text } = await openai().audio.transcriptions.create({ model: "m", file });
    expect(text).toBe("hello");
    expect(upstream.requests[0]?.body.includes(sound)).toBe(true);
    expect(upstream.requests[0]?.head).toMatch(/content-type: multipart\/form-data; boundary=/i);
  });

  test("a form without a model, and a form that is none", async () => {
    await start(["transcriptions"], json("{}"));
    const form = new FormData();
    form.set("file", new File(["x"], "a.wav"));
    const post = (body: FormData | string) => fetch(`${harness.url}/v1/audio/transcriptions`, { method: "POST", body });
    const [without, none] = [await post(form), await post("{}")];
    expect([without.status, (await errorOf(without)).param]).toEqual([400, "model"]);
    expect([none.status, (await errorOf(none)).code]).toEqual([415, "unsupported_content_type"]);
  });

  test("speech comes back byte for byte", async () => {
    const sound = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    await start(
      ["speech"],
      Buffer.concat([Buffer.from("HTTP/1.1 200 OK\r\nContent-Type: audio/mpeg\r\nContent-Length: 256\r\n\r\n"), sound]),
    );
    const response = await openai().audio.speech.create({ model: "m", voice: "alloy", input: "hi" });
    expect(Buffer.from(await response.arrayBuffer())).toEqual(sound);
  });
});

describe("models, for both SDKs", () => {
  const serve = async (): Promise<void> => {
    harness = await RouterHarness.start();
    await harness.serve({ b: [], "org/a": [], c: [] });
  };

  test("Anthropic's reads the list page by page, and one of a name with a slash", async () => {
    await serve();
    const seen: string[] = [];
    for await (const model of anthropic().models.list({ limit: 1 })) seen.push(model.id);
    expect(seen).toEqual(["b", "c", "org/a"]);
    expect(await anthropic().models.retrieve("org/a")).toMatchObject({ type: "model", display_name: "org/a" });
  });

  test("backwards too", async () => {
    await serve();
    const page = (await (await fetch(`${harness.url}/v1/models?limit=1&before_id=org/a`)).json()) as object;
    expect(page).toMatchObject({ data: [{ id: "c" }], has_more: true, first_id: "c", last_id: "c" });
  });

  test("OpenAI's gets all, and each finds its own error", async () => {
    await serve();
    expect((await openai().models.list()).data.map(({ id }) => id)).toEqual(["b", "c", "org/a"]);
    await expect(openai().models.retrieve("nope")).rejects.toMatchObject({ code: "model_not_found" });
    await expect(anthropic().models.retrieve("nope")).rejects.toMatchObject({ type: "not_found_error" });
  });
});

describe("headers of every answer", () => {
  test("the request's id by both names, and the trace that it belongs to", async () => {
    await start(undefined, json("{}"));
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const headers = { traceparent, "x-request-id": "mine" };
    for (const path of ["/v1/messages", "/v1/messages/nope"]) {
      const response = await harness.post({ model: "m" }, { path, headers });
      const told = ["x-request-id", "request-id", "traceparent"].map((name) => response.headers.get(name));
      expect(told).toEqual(["mine", "mine", traceparent]);
      await response.text();
    }
  });

  test("the client's own id and its try are in the log", async () => {
    await start(undefined, json("{}"));
    await (
      await harness.post({ model: "m" }, { headers: { "x-client-request-id": "c1", "x-stainless-retry-count": "2" } })
    ).text();
    expect(await harness.logged({ client_request_id: "c1" })).toMatchObject({ client_retry: "2" });
  });

  test("a trace that is none is not repeated", async () => {
    await start(undefined, json("{}"));
    const response = await harness.post({ model: "m" }, { headers: { traceparent: "x" } });
    expect(response.headers.has("traceparent")).toBe(false);
  });
});

test("a body of another type is refused, and so is a page's that hides what it is; nothing is asked", async () => {
  const upstream = await start(undefined, json("{}"));
  const ask = async (type: string, more: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const response = await harness.post({ model: "m" }, { headers: { "content-type": type, ...more } });
    return [response.status, (await errorOf(response)).code];
  };
  const refused = [415, "unsupported_content_type"];
  expect(await ask("application/xml")).toEqual(refused);
  expect(await ask("multipart/form-data; boundary=x")).toEqual(refused);
  expect(await ask("text/plain", { origin: "https://evil.example" })).toEqual(refused);
  expect(upstream.requests).toHaveLength(0);
  expect((await harness.post({ model: "m" }, { headers: { "content-type": "text/plain" } })).status).toBe(200);
});

test("what would have to be kept between requests is refused with a reason", async () => {
  await start(undefined, json("{}"));
  for (const path of ["/v1/files", "/v1/batches", "/v1/threads/t/runs", "/v1/responses/resp_1", "/v1/conversations"]) {
    const response = await fetch(harness.url + path);
    const { code, message } = await errorOf(response);
    expect([response.status, code]).toEqual([404, "unknown_url"]);
    expect(message).toContain("kept");
  }
});
