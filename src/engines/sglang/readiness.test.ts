import { describe, expect, test } from "vitest";
import { furtherProofs, proofRequest, readCapacity } from "./readiness.ts";

describe("what proves it", () => {
  test.each([
    { args: [], paths: ["/v1/completions", "/v1/embeddings", "/v1/rerank"] },
    { args: ["--is-embedding"], paths: ["/v1/embeddings", "/v1/rerank"] },
  ])("$args", ({ args, paths }) => {
    const serves = ["m"];
    const requests = [proofRequest({ args, serves }), ...furtherProofs({ args, serves })];
    expect(requests.map(({ path }) => path)).toEqual(paths);
  });
});

describe("readCapacity", () => {
  const state = (requests: number): object => ({
    effective_max_running_requests_per_dp: requests,
    last_gen_throughput: 1,
  });

  test.each([
    {
      name: "as its settings say",
      body: { context_length: 4096, max_req_input_len: 4090, internal_states: [state(48)], api_key: "k" },
      want: { slots: 48, context: 4096 },
    },
    {
      name: "the longest prompt where nobody named a context",
      body: { context_length: null, max_req_input_len: 32_762, internal_states: [state(48)] },
      want: { slots: 48, context: 32_762 },
    },
    {
      name: "of all its parts together",
      body: { max_req_input_len: 512, internal_states: [state(8), state(8)] },
      want: { slots: 16, context: 512 },
    },
    { name: "without either", body: { internal_states: [state(8)] }, want: undefined },
    { name: "something else", body: { error: "Unauthorized" }, want: undefined },
  ])("$name", ({ body, want }) => {
    expect(readCapacity(JSON.stringify(body))).toEqual(want);
  });
});
