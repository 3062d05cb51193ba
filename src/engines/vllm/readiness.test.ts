import { describe, expect, test } from "vitest";
import { furtherProofs, proofRequest, readCapacity } from "./readiness.ts";

const serves = ["m", "other"];

describe("what proves it", () => {
  test.each([
    { args: [], paths: ["/v1/completions", "/v1/embeddings", "/v1/rerank", "/classify"] },
    { args: ["--runner", "pooling"], paths: ["/v1/embeddings", "/v1/rerank", "/classify"] },
    { args: ["--convert=classify"], paths: ["/classify", "/v1/completions", "/v1/embeddings", "/v1/rerank"] },
  ])("$args", ({ args, paths }) => {
    const requests = [proofRequest({ args, serves }), ...furtherProofs({ args, serves })];
    expect(requests.map(({ path }) => path)).toEqual(paths);
    for (const { body } of requests) expect(JSON.parse(body ?? "")).toMatchObject({ model: "m" });
  });
});

describe("readCapacity", () => {
  const models = (...data: readonly object[]): string => JSON.stringify({ object: "list", data });

  test.each([
    {
      name: "by default",
      body: models({ id: "m", max_model_len: 4096 }),
      args: [],
      want: { slots: 256, context: 4096 },
    },
    {
      name: "as it was told",
      body: models({ id: "m", max_model_len: 4096 }),
      args: ["--max-num-seqs=1024"],
      want: { slots: 1024, context: 4096 },
    },
    {
      name: "adapters have no context of their own",
      body: models({ id: "a", max_model_len: null, parent: "m" }, { id: "m", max_model_len: 512 }),
      args: [],
      want: { slots: 256, context: 512 },
    },
    { name: "no models", body: models(), args: [], want: undefined },
    { name: "no JSON", body: "Unauthorized", args: [], want: undefined },
  ])("$name", ({ body, args, want }) => {
    expect(readCapacity(body, { args })).toEqual(want);
  });
});
