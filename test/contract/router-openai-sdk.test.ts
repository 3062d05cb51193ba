import OpenAI from "openai";
import { afterEach, describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { until } from "../e2e/wait.ts";
import {
  chunk,
  json,
  LAST_CHUNK,
  RawUpstream,
  type ReceivedRequest,
  STREAM_HEAD,
  type UpstreamConnection,
} from "../fakes/raw-upstream.ts";
import { RouterHarness } from "../fakes/router-harness.ts";

// The official client over the router over an engine that says what llama-server says.

let harness: RouterHarness;
let client: OpenAI;

afterEach(async () => {
  await harness.idle();
  await harness.stop();
});

type Engine = (connection: UpstreamConnection, request: ReceivedRequest) => Promise<void> | void;

async function start(engine: Engine): Promise<RawUpstream> {
  harness = await RouterHarness.start({ limits: { tick: millis(20) } });
  const upstream = harness.adopt(await RawUpstream.onRequest(engine));
  await harness.serve({ m: [upstream] });
  client = new OpenAI({ baseURL: `${harness.url}/v1`, apiKey: "sk-anything", maxRetries: 0 });
  return upstream;
}

const messages = [{ role: "user" as const, content: "Hello" }];
const usage = { prompt_tokens: 13, completion_tokens: 2, total_tokens: 15 };
const event = (data: unknown): Buffer => chunk(`data: ${JSON.stringify(data)}\n\n`);
const delta = (content: string, finish: string | null = null) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { content }, finish_reason: finish }],
});

describe("the openai client", () => {
  test("chat", async () => {
    const choices = [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Hi 🌍" } }];
    const upstream = await start((c) =>
      c.write(json(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices, usage }))),
    );
    const { data, request_id: requestId } = await client.chat.completions
      .create({ model: "m", messages })
      .withResponse();
    expect(data.choices[0]?.message.content).toBe("Hi 🌍");
    expect(data.usage).toEqual(usage);
    expect(requestId).toMatch(/^req_/);
    expect(upstream.requests[0]?.head).toContain("Authorization: Bearer ek-secret");
    expect(upstream.requests[0]?.head).not.toContain("sk-anything");
  });

  test("a stream with usage", async () => {
    await start(async (connection) => {
      await connection.write(STREAM_HEAD);
      await connection.write(event(delta("Hi")));
      await connection.write(
        Buffer.concat([event(delta(" you")), event(delta("", "stop")), event({ ...delta(""), choices: [], usage })]),
      );
      await connection.write(Buffer.concat([chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
    });
    const stream = await client.chat.completions.create({
      model: "m",
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const part of stream) chunks.push(part);
    expect(chunks.map((part) => part.choices[0]?.delta.content ?? "").join("")).toBe("Hi you");
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage });
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="completion"}')).toBe(2);
    expect(await harness.metric('llmgw_router_time_per_output_token_seconds_count{model="m"}')).toBe(1);
  });

  test("completions", async () => {
    await start((c) =>
      c.write(
        json(
          JSON.stringify({
            id: "c",
            object: "text_completion",
            created: 1,
            model: "m",
            choices: [{ index: 0, text: " upon", finish_reason: "length" }],
            usage,
          }),
        ),
      ),
    );
    const answer = await client.completions.create({ model: "m", prompt: "Once", max_tokens: 1 });
    expect(answer.choices[0]?.text).toBe(" upon");
  });

  test("embeddings", async () => {
    await start((c) =>
      c.write(
        json(
          JSON.stringify({
            model: "m",
            object: "list",
            usage: { prompt_tokens: 5, total_tokens: 5 },
            data: [{ object: "embedding", index: 0, embedding: [0.5, -1] }],
          }),
        ),
      ),
    );
    const answer = await client.embeddings.create({ model: "m", input: "x", encoding_format: "float" });
    expect(answer.data[0]?.embedding).toEqual([0.5, -1]);
    expect(await harness.metric('llmgw_router_tokens_total{model="m",kind="prompt"}')).toBe(5);
  });

  test("the model list and one model", async () => {
    await start(() => undefined);
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(["m"]);
    expect(await client.models.retrieve("m")).toMatchObject({ id: "m", object: "model", owned_by: "llmgw" });
    await expect(client.models.retrieve("none")).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test("a wrong model", async () => {
    await start(() => undefined);
    const failure = await client.chat.completions.create({ model: "nope", messages }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.NotFoundError);
    expect(failure).toMatchObject({
      status: 404,
      code: "model_not_found",
      type: "invalid_request_error",
      param: "model",
    });
  });

  test("a model that is not ready, and the retry that the answer asks for", async () => {
    await start((c) => c.write(json("{}")));
    await harness.serve({ m: [] }, { waitingFor: "loading" });
    const failure = await client.chat.completions.create({ model: "m", messages }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.InternalServerError);
    expect(failure).toMatchObject({ status: 503, code: "model_not_ready" });
  });

  test("an engine that dies in mid-stream is an error, not an end", async () => {
    await start(async (connection) => {
      await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), event(delta("Hi"))]));
      await until("the first event at the client", () => seen.length > 0);
      connection.reset();
    });
    const seen: string[] = [];
    const stream = await client.chat.completions.create({ model: "m", messages, stream: true });
    const failure = await (async () => {
      for await (const part of stream) seen.push(part.choices[0]?.delta.content ?? "");
    })().catch((error: unknown) => error);
    expect(seen).toEqual(["Hi"]);
    expect(failure).toBeInstanceOf(OpenAI.APIError);
    expect(failure).toMatchObject({ code: "engine_unavailable" });
  });

  test("B78 comments between events do not disturb it, ids or not", async () => {
    let open: UpstreamConnection | undefined;
    harness = await RouterHarness.start({ limits: { tick: millis(10), streamComment: millis(30) } });
    const upstream = harness.adopt(
      await RawUpstream.onRequest(async (connection) => {
        open = connection;
        await connection.write(
          Buffer.concat([Buffer.from(STREAM_HEAD), chunk(`id: 1\ndata: ${JSON.stringify(delta("a"))}\n\n`)]),
        );
      }),
    );
    await harness.serve({ m: [upstream] });
    client = new OpenAI({ baseURL: `${harness.url}/v1`, apiKey: "x", maxRetries: 0 });
    const stream = await client.chat.completions.create({ model: "m", messages, stream: true });
    const openedAt = performance.now();
    await until("some comments", () => performance.now() - openedAt > 200);
    await open?.write(Buffer.concat([event(delta("b", "stop")), chunk("data: [DONE]\n\n"), Buffer.from(LAST_CHUNK)]));
    let text = "";
    for await (const part of stream) text += part.choices[0]?.delta.content ?? "";
    expect(text).toBe("ab");
  });

  test("abort in mid-stream ends the engine's request", async () => {
    const upstream = await start(async (connection) => {
      await connection.write(Buffer.concat([Buffer.from(STREAM_HEAD), event(delta("Hi"))]));
      await connection.closed;
    });
    const stream = await client.chat.completions.create({ model: "m", messages, stream: true });
    for await (const part of stream) {
      expect(part.choices[0]?.delta.content).toBe("Hi");
      break;
    }
    stream.controller.abort();
    await until("the engine's connection gone", () => upstream.openConnections === 0);
    expect(await harness.logged({ code: 499 })).toMatchObject({ outcome: "client_gone" });
  });

  test("an engine's own refusal is the client's to see", async () => {
    const body = JSON.stringify({
      error: {
        code: 400,
        message: "the request exceeds the available context size",
        type: "exceed_context_size_error",
      },
    });
    await start((c) =>
      c.write(
        `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: ${String(body.length)}\r\n\r\n${body}`,
      ),
    );
    const failure = await client.chat.completions.create({ model: "m", messages }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.BadRequestError);
    expect(failure).toMatchObject({ message: expect.stringContaining("context size") as string });
  });
});
