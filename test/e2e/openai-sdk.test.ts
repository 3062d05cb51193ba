import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cluster } from "./cluster.ts";
import { until } from "./wait.ts";

describe("the official OpenAI client, through the router, to a real llama-server", () => {
  let cluster: Cluster;
  let client: OpenAI;

  beforeAll(async () => {
    cluster = await Cluster.start();
    await cluster.apply({ name: "tiny", model: { source: "tiny:" }, context: 2048, args: ["-t", "1"] });
    await cluster.apply({
      name: "embedder",
      model: { source: "tiny:" },
      context: 512,
      args: ["--embeddings", "-t", "1"],
    });
    await cluster.ready("tiny");
    await cluster.ready("embedder");
    client = new OpenAI({ baseURL: cluster.baseUrl, apiKey: "unused", maxRetries: 0 });
    await until("both models in the list", async () => (await client.models.list()).data.length === 2);
  });

  afterAll(async () => {
    await cluster.stop();
  });

  const messages = [{ role: "user" as const, content: "Hello" }];

  test("chat", async () => {
    const answer = await client.chat.completions.create({ model: "tiny", messages, max_completion_tokens: 8 });
    expect(answer.choices[0]?.message.role).toBe("assistant");
    expect(answer.usage?.completion_tokens).toBeGreaterThan(0);
  });

  test("a stream with usage ends with one usage chunk", async () => {
    const stream = await client.chat.completions.create({
      model: "tiny",
      messages,
      max_completion_tokens: 8,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.at(-1)?.choices).toEqual([]);
    expect(chunks.at(-1)?.usage?.completion_tokens).toBe(8);
    expect(chunks.filter((chunk) => typeof chunk.usage === "object" && chunk.usage !== null)).toHaveLength(1);
    expect(chunks.map((chunk) => chunk.choices[0]?.finish_reason)).toContain("length");
  });

  test("completions", async () => {
    const answer = await client.completions.create({ model: "tiny", prompt: "Once", max_tokens: 4 });
    expect(answer.usage?.completion_tokens).toBe(4);
  });

  test("embeddings", async () => {
    const answer = await client.embeddings.create({
      model: "embedder",
      input: ["one", "two"],
      encoding_format: "float",
    });
    expect(answer.data).toHaveLength(2);
    expect(answer.data[0]?.embedding.length).toBeGreaterThan(0);
  });

  test("the model list and one model", async () => {
    const ids = (await client.models.list()).data.map((model) => model.id);
    expect(ids.toSorted()).toEqual(["embedder", "tiny"]);
    expect((await client.models.retrieve("tiny")).id).toBe("tiny");
  });

  test("a wrong model is a 404 with model_not_found", async () => {
    const failure = await client.chat.completions.create({ model: "nope", messages }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(OpenAI.NotFoundError);
    expect(failure).toMatchObject({ status: 404, code: "model_not_found", type: "invalid_request_error" });
  });

  test("abort in mid-stream frees the engine's slot within 2 s", async () => {
    const replica = await cluster.ready("tiny");
    const key = await cluster.engineKey(replica.pid ?? 0);
    const busy = async (): Promise<boolean> => {
      const { host = "", port = 0 } = replica.endpoint ?? {};
      const response = await fetch(`http://${host}:${String(port)}/slots`, {
        headers: { authorization: `Bearer ${key}` },
      });
      return ((await response.json()) as { is_processing: boolean }[]).some((slot) => slot.is_processing);
    };
    const stream = await client.chat.completions.create({
      model: "tiny",
      messages,
      max_completion_tokens: 100_000,
      stream: true,
      // The tiny model would end its noise by chance.
      ...{ ignore_eos: true },
    });
    for await (const chunk of stream) {
      expect(chunk.object).toBe("chat.completion.chunk");
      break;
    }
    stream.controller.abort();
    // The engine looks for a lost client once a second; the bound is the promise, not a measurement.
    await until("an idle slot", async () => !(await busy()), { timeoutMs: 2_000 });
  });
});
