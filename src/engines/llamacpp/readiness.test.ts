import { describe, expect, test } from "vitest";
import { checkProof, proofRequest, readCapacity } from "./readiness.ts";

describe("proofRequest", () => {
  test.each([
    { args: [], path: "/v1/completions", body: { model: "m", prompt: "ready", max_tokens: 1 } },
    { args: ["--embeddings", "--pooling", "mean"], path: "/v1/embeddings", body: { model: "m", input: "ready" } },
    { args: ["--embedding"], path: "/v1/embeddings", body: { model: "m", input: "ready" } },
    { args: ["--reranking"], path: "/v1/rerank", body: { model: "m", query: "ready", documents: ["ready"] } },
    { args: ["--rerank"], path: "/v1/rerank", body: { model: "m", query: "ready", documents: ["ready"] } },
  ])("$args asks $path", ({ args, path, body }) => {
    const request = proofRequest({ args, serves: ["m", "other"] });
    expect(request).toMatchObject({ method: "POST", path });
    expect(JSON.parse(request.body ?? "")).toEqual(body);
  });
});

describe("checkProof", () => {
  test.each([
    { name: "a token", body: '{"choices":[{"text":"y","index":0}]}' },
    { name: "half a character", body: '{"choices":[{"text":""}]}' },
    { name: "an embedding", body: '{"data":[{"embedding":[0.1,-0.2]}]}' },
    { name: "a ranking", body: '{"results":[{"index":0,"relevance_score":-1.5}]}' },
  ])("$name will do", ({ body }) => {
    expect(checkProof(200, body).ok).toBe(true);
  });

  test.each([
    {
      name: "still loading",
      status: 503,
      body: '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}',
      says: "the engine answered its first request with 503: Loading model",
    },
    {
      name: "no pooling",
      status: 400,
      body: `{"error":{"code":400,"message":"Pooling type 'none' is not OAI compatible. Please use a different pooling type"}}`,
      says: /add --pooling to args/,
    },
    { name: "an embedding that is no number", status: 200, body: '{"data":[{"embedding":[null]}]}', says: /200/ },
    { name: "no choices", status: 200, body: '{"choices":[]}', says: /200/ },
    { name: "a page", status: 200, body: "<html>proxy</html>", says: /<html>/ },
  ])("$name will not", ({ status, body, says }) => {
    const proof = checkProof(status, body);
    expect(proof.ok ? "" : proof.error).toMatch(says);
  });
});

describe("readCapacity", () => {
  test.each([
    {
      name: "slots and the context of each",
      body: '{"default_generation_settings":{"params":{},"n_ctx":4096},"total_slots":4,"model_path":"m"}',
      want: { slots: 4, context: 4096 },
    },
    { name: "a body without them", body: "{}", want: undefined },
    { name: "no JSON", body: "Not Found", want: undefined },
  ])("$name", ({ body, want }) => {
    expect(readCapacity(body)).toEqual(want);
  });
});
