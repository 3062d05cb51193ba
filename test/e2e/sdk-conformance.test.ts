import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CODING_AGENT as MESSAGES_AGENT } from "../fixtures/wire/coding-agent-messages.ts";
import { CODING_AGENT as RESPONSES_AGENT } from "../fixtures/wire/coding-agent-responses.ts";
import { runOpenaiPython } from "./openai-python.ts";
import { type SdkSite, startSdkSite } from "./sdk-site.ts";

let site: SdkSite;

beforeAll(async () => {
  site = await startSdkSite();
});

afterAll(async () => {
  await site.cluster.stop();
});

const failureOf = (promise: PromiseLike<unknown>): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => "no failure",
    (error: unknown) => error,
  );

const CITY = { type: "object" as const, properties: { city: { type: "string" } }, required: ["city"] };
const FORMAT = {
  type: "object",
  properties: { city: { enum: ["Paris"] } },
  required: ["city"],
  additionalProperties: false,
};
const TOO_LONG = "hello ".repeat(8_000);
/** The tiny model ends by itself only when it is told how long to be. */
const ENDLESS = { ignore_eos: true };

describe("@anthropic-ai/sdk", () => {
  const client = (apiKey = site.key): Anthropic => new Anthropic({ baseURL: site.origin, apiKey, maxRetries: 0 });
  const ask = { model: "tiny", max_tokens: 6, messages: [{ role: "user" as const, content: "Hello" }] };
  const prompt = {
    model: "caller",
    messages: ask.messages,
    system: "Be short.",
    tools: [{ name: "weather", description: "Tells the weather.", input_schema: CITY }],
  };
  const calling = { ...prompt, max_tokens: 64, thinking: { type: "enabled" as const, budget_tokens: 1_024 } };

  test("an answer, with either way to show a key", async () => {
    const byBearer = new Anthropic({ baseURL: site.origin, authToken: site.key, apiKey: null, maxRetries: 0 });
    for (const one of [client(), byBearer]) {
      const message = await one.messages.create(ask);
      expect(message).toMatchObject({ type: "message", role: "assistant", stop_reason: "max_tokens" });
      expect(message.usage.output_tokens).toBe(6);
      expect(message._request_id).toMatch(/^req_/);
    }
  });

  test("a stream", async () => {
    const texts: string[] = [];
    const stream = client().messages.stream(ask);
    stream.on("text", (text) => texts.push(text));
    const message = await stream.finalMessage();
    expect(message.content).toMatchObject([{ type: "text", text: texts.join("") }]);
    expect(texts.length).toBeGreaterThan(1);
  });

  test("thoughts and a call, streamed; and the turn with its result", async () => {
    const message = await client().messages.stream(calling).finalMessage();
    expect(message.content).toMatchObject([
      { type: "thinking", thinking: expect.stringContaining("Paris, then.") as string },
      { type: "text", text: expect.stringContaining("Let me look.") as string },
      { type: "tool_use", name: "weather", input: { city: "Paris" } },
    ]);
    expect(message.stop_reason).toBe("tool_use");
    const call = message.content.find((block) => block.type === "tool_use");
    const results = [{ type: "tool_result" as const, tool_use_id: call?.id ?? "", content: "Mild." }];
    const next = await client().messages.create({
      ...calling,
      messages: [
        ...calling.messages,
        { role: "assistant", content: message.content },
        { role: "user", content: results },
      ],
    });
    expect(next.usage.input_tokens + (next.usage.cache_read_input_tokens ?? 0)).toBeGreaterThan(
      message.usage.input_tokens,
    );
  });

  test("the tokens that are counted are those that are used", async () => {
    const counted = await client().messages.countTokens(prompt);
    const { usage } = await client().messages.create({ ...prompt, max_tokens: 1 });
    expect(counted.input_tokens).toBe(usage.input_tokens + (usage.cache_read_input_tokens ?? 0));
  });

  test("a coding agent's turns, over the beta path", async () => {
    for (const { request } of MESSAGES_AGENT) {
      const turn = {
        ...request,
        model: "caller",
        max_tokens: 64,
      } as unknown as Anthropic.Beta.MessageCreateParamsStreaming;
      const stream = await client().beta.messages.create({ ...turn, stream: true });
      const types = new Set<string>();
      for await (const event of stream) types.add(event.type);
      expect([...types]).toEqual(expect.arrayContaining(["message_start", "content_block_delta", "message_stop"]));
    }
  });

  test("the models", async () => {
    const ids: string[] = [];
    for await (const model of client().models.list({ limit: 1 })) ids.push(model.id);
    expect(ids).toEqual(["away", "caller", "tiny"]);
    expect(await client().models.retrieve("tiny")).toMatchObject({ id: "tiny", type: "model" });
  });

  test("each failure has its class", async () => {
    const long = { ...ask, messages: [{ role: "user" as const, content: TOO_LONG }] };
    const slow = client(site.slowKey);
    await slow.messages.create(ask);
    const failures = await Promise.all([
      failureOf(client("sk-llmgw-made-up").messages.create(ask)),
      failureOf(client(site.narrowKey).messages.create(ask)),
      failureOf(client().messages.create({ ...ask, model: "nope" })),
      failureOf(client().messages.create(long)),
      failureOf(client().messages.create({ ...ask, model: "away" })),
      failureOf(slow.messages.create(ask)),
      failureOf(client().models.retrieve("nope")),
    ]);
    const classes = [
      [Anthropic.AuthenticationError, "authentication_error"],
      [Anthropic.PermissionDeniedError, "permission_error"],
      [Anthropic.NotFoundError, "not_found_error"],
      [Anthropic.BadRequestError, "invalid_request_error"],
      [Anthropic.InternalServerError, "overloaded_error"],
      [Anthropic.RateLimitError, "rate_limit_error"],
      [Anthropic.NotFoundError, "not_found_error"],
    ] as const;
    classes.forEach(([kind, type], index) => {
      expect(failures[index]).toBeInstanceOf(kind);
      expect(failures[index]).toMatchObject({ type, requestID: expect.stringMatching(/^req_/) as string });
    });
  });

  test("what is aborted or takes too long ends as the SDK says", async () => {
    const endless = { ...ask, ...ENDLESS, max_tokens: 1_000_000 };
    const stream = client().messages.stream(endless);
    stream.on("text", () => {
      stream.abort();
    });
    expect(await failureOf(stream.finalMessage())).toBeInstanceOf(Anthropic.APIUserAbortError);
    const late = client().messages.create({ ...endless, stream: false }, { timeout: 300 });
    expect(await failureOf(late)).toBeInstanceOf(Anthropic.APIConnectionTimeoutError);
  });
});

describe("openai", () => {
  const client = (apiKey = site.key): OpenAI => new OpenAI({ baseURL: site.cluster.baseUrl, apiKey, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Hello" }];
  const chat = { model: "tiny", messages, max_completion_tokens: 6 };
  const tools = [{ type: "function" as const, function: { name: "weather", parameters: CITY } }];
  const schema = { name: "place", schema: FORMAT, strict: true };

  test("chat: a call, gathered from its stream; and the turn with its result", async () => {
    const stream = client().chat.completions.stream({ model: "caller", messages, tools, max_completion_tokens: 64 });
    const answer = await stream.finalChatCompletion();
    const [call] = answer.choices[0]?.message.tool_calls ?? [];
    expect(call).toMatchObject({ function: { name: "weather", arguments: '{"city": "Paris"}' } });
    const { content = "", tool_calls: calls = [] } = answer.choices[0]?.message ?? {};
    const next = await client().chat.completions.create({
      model: "caller",
      max_completion_tokens: 64,
      tools,
      messages: [
        ...messages,
        { role: "assistant", content, tool_calls: calls },
        { role: "tool", tool_call_id: call?.id ?? "", content: "Mild." },
      ],
    });
    expect(next.choices[0]?.finish_reason).toBe("tool_calls");
  });

  test("chat: an answer of a given form", async () => {
    const answer = await client().chat.completions.create({
      ...chat,
      max_completion_tokens: 64,
      response_format: { type: "json_schema", json_schema: schema },
    });
    expect(JSON.parse(answer.choices[0]?.message.content ?? "")).toEqual({ city: "Paris" });
  });

  test("responses: an answer that the limit cut, and one of a given form", async () => {
    const cut = await client().responses.create({ model: "tiny", input: "Hello", max_output_tokens: 6 });
    expect(cut).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    expect(cut.usage?.output_tokens).toBe(6);
    const format = { type: "json_schema" as const, ...schema };
    const formed = await client().responses.create({ model: "tiny", input: "Hello", text: { format } });
    expect([formed.status, JSON.parse(formed.output_text)]).toEqual(["completed", { city: "Paris" }]);
  });

  test("responses: thoughts and a call, gathered from their stream; and the turn with its result", async () => {
    const tool = { type: "function" as const, name: "weather", parameters: CITY, strict: false };
    const first = await client()
      .responses.stream({ model: "caller", input: messages, tools: [tool] })
      .finalResponse();
    expect(first.output).toMatchObject([
      { type: "reasoning", content: [{ text: expect.stringContaining("Paris, then.") as string }] },
      { type: "message", content: [{ text: expect.stringContaining("Let me look.") as string }] },
      { type: "function_call", name: "weather", arguments: '{"city": "Paris"}' },
    ]);
    const call = first.output.find((item) => item.type === "function_call");
    const input = [
      ...messages,
      ...(first.output as OpenAI.Responses.ResponseInputItem[]),
      { type: "function_call_output" as const, call_id: call?.call_id ?? "", output: "Mild." },
    ];
    const second = await client().responses.create({ model: "caller", input, tools: [tool] });
    expect(second.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? Infinity);
    const counted = await client().responses.inputTokens.count({ model: "caller", input, tools: [tool] });
    expect(counted.input_tokens).toBe(second.usage?.input_tokens);
  });

  test("responses: a coding agent's turns", async () => {
    for (const { request } of RESPONSES_AGENT) {
      const turn = { ...request, model: "caller" } as unknown as OpenAI.Responses.ResponseCreateParamsStreaming;
      const types = new Set<string>();
      for await (const event of await client().responses.create(turn)) types.add(event.type);
      expect([...types]).toEqual(expect.arrayContaining(["response.output_item.done", "response.completed"]));
    }
  });

  test("each failure has its class", async () => {
    const slow = client(site.slowKey);
    const failures = await Promise.all([
      failureOf(client("sk-llmgw-made-up").chat.completions.create(chat)),
      failureOf(client(site.narrowKey).chat.completions.create(chat)),
      failureOf(client().chat.completions.create({ ...chat, model: "nope" })),
      failureOf(client().chat.completions.create({ ...chat, messages: [{ role: "user", content: TOO_LONG }] })),
      failureOf(client().responses.create({ model: "tiny", input: "x", previous_response_id: "resp_1" })),
      failureOf(client().images.generate({ model: "tiny", prompt: "x" })),
      failureOf(client().chat.completions.create({ ...chat, model: "away" })),
      failureOf(slow.chat.completions.create(chat).then(() => slow.chat.completions.create(chat))),
    ]);
    const classes = [
      [OpenAI.AuthenticationError, "invalid_api_key"],
      [OpenAI.PermissionDeniedError, "insufficient_permissions"],
      [OpenAI.NotFoundError, "model_not_found"],
      [OpenAI.BadRequestError, "context_length_exceeded"],
      [OpenAI.BadRequestError, "previous_response_not_supported"],
      [OpenAI.NotFoundError, "unsupported_endpoint"],
      [OpenAI.InternalServerError, "model_not_ready"],
      [OpenAI.RateLimitError, "rate_limit_exceeded"],
    ] as const;
    classes.forEach(([kind, code], index) => {
      expect(failures[index]).toBeInstanceOf(kind);
      expect(failures[index]).toMatchObject({ code, requestID: expect.stringMatching(/^req_/) as string });
    });
  });

  test("what takes too long ends as the SDK says", async () => {
    const late = client().chat.completions.create(
      { ...chat, ...ENDLESS, max_completion_tokens: 1_000_000 },
      { timeout: 300 },
    );
    expect(await failureOf(late)).toBeInstanceOf(OpenAI.APIConnectionTimeoutError);
  });
});

test("openai of PyPI: chat, a stream, and each failure's class", async (context) => {
  const ran = await runOpenaiPython({ BASE_URL: site.cluster.baseUrl, KEY: site.key, NARROW_KEY: site.narrowKey });
  if (!ran.ok) {
    console.log(`not tried with openai of PyPI: ${ran.error}`);
    context.skip(ran.error);
    return;
  }
  expect(ran.value).toEqual({
    chat: "assistant",
    stream: { chunks: true, usage: 6 },
    failures: [
      "AuthenticationError",
      "PermissionDeniedError",
      "NotFoundError",
      "BadRequestError",
      "InternalServerError",
    ],
    codes: [
      "invalid_api_key",
      "insufficient_permissions",
      "model_not_found",
      "context_length_exceeded",
      "model_not_ready",
    ],
    timeout: "APITimeoutError",
  });
});
