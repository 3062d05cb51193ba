import { describe, expect, test } from "vitest";
import { bytes } from "../core/ids.ts";
import type { ModelFacts } from "../core/model-facts.ts";
import type { Profile } from "../core/profile.ts";
import { needsAt } from "./known-model.ts";

const facts = (format: ModelFacts["format"]): ModelFacts => ({
  ...{ format, architecture: "llama", layers: 32, heads: 32, kvHeads: [8], keyLength: 128, valueLength: 128 },
  ...{ latent: undefined, embedding: 4096, slidingWindow: undefined, slidingLayers: 0, contextLength: 8192 },
  ...{ vocabulary: 128_256, experts: undefined },
});
const profile = (engine: Profile["engine"]) =>
  ({ engine, args: [], env: {}, resources: { nodes: 1 }, parallel: { tensor: 1, pipeline: 1 } }) as unknown as Profile;

describe("what a model's format says of engines", () => {
  test.each([
    { format: "gguf", engines: ["llama.cpp"], gpuOnly: undefined },
    { format: "safetensors", engines: ["vllm", "sglang"], gpuOnly: true },
  ] as const)("auto and $format", ({ format, engines, gpuOnly }) => {
    const known = { facts: facts(format), weights: bytes(2 ** 34), origin: "" };
    expect(needsAt(profile("auto"), known)(undefined)).toMatchObject({ engines });
    expect(needsAt(profile("auto"), known)(undefined).gpuOnly).toBe(gpuOnly);
  });

  test("nothing, before anybody has looked at it", () => {
    const needs = needsAt(profile("auto"), { facts: undefined, weights: undefined, origin: "" })(undefined);
    expect(needs.engines).toBeUndefined();
    expect(needs.gpuOnly).toBeUndefined();
  });

  test("an engine that is named says whether it needs GPUs", () => {
    const needs = needsAt(profile("vllm"), { facts: undefined, weights: undefined, origin: "" })(undefined);
    expect(needs.gpuOnly).toBe(true);
  });
});
