import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { profile } from "../../../test/fakes/values.ts";
import type { ModelFacts } from "../../core/model-facts.ts";
import { parseModelConfig } from "./model-config.ts";
import { whyNotSplit } from "./split.ts";

const facts = (config: unknown): ModelFacts => {
  const result = parseModelConfig(JSON.stringify(config));
  if (!result.ok) throw new Error(result.error);
  return result.value;
};

const splitBy = (tensor: number, config: unknown): string | undefined =>
  whyNotSplit(profile("m", { parallel: { tensor, pipeline: 1 } }), facts(config));

const VISION = { num_attention_heads: 25, hidden_size: 1000 };

describe("heads of the part that writes text", () => {
  test.each([
    {
      name: "B134 text_config beside vision_config",
      config: { text_config: { num_attention_heads: 64 }, vision_config: VISION },
    },
    {
      name: "B134 llm_config beside vision_config",
      config: { llm_config: { num_attention_heads: 64 }, vision_config: VISION },
    },
    { name: "language_config", config: { language_config: { num_attention_heads: 64 }, vision_config: VISION } },
    {
      name: "a thinker's text_config",
      config: { thinker_config: { text_config: { num_attention_heads: 64 }, audio_config: VISION } },
    },
    { name: "at the top, beside vision_config", config: { num_attention_heads: 64, vision_config: VISION } },
    {
      name: "text_config before another number at the top",
      config: { num_attention_heads: 8, text_config: { num_attention_heads: 64 } },
    },
    { name: "an empty text_config and the number at the top", config: { num_attention_heads: 64, text_config: {} } },
    { name: "GPT-2's name for it", config: { n_head: 64 } },
    { name: "MPT's name for it", config: { n_heads: 64 } },
  ])("$name", ({ config }) => {
    expect(facts(config).heads).toBe(64);
    expect(splitBy(4, config)).toBeUndefined();
    expect(splitBy(3, config)).toBe(
      "m: the model has 64 attention heads, which 3 GPUs cannot share evenly; set parallel.tensor to 2 or 4",
    );
  });

  test.each([
    { name: "B134 only a vision part", config: { vision_config: VISION } },
    { name: "nothing", config: {} },
    { name: "a text", config: { num_attention_heads: "64" } },
    { name: "zero", config: { num_attention_heads: 0 } },
    { name: "half a head", config: { num_attention_heads: 1.5 } },
    { name: "a list", config: { num_attention_heads: [8, 16] } },
    { name: "parts that are no objects", config: { text_config: [1], llm_config: null, language_config: "x" } },
  ])("unknown is not 1: $name", ({ config }) => {
    expect(facts(config).heads).toBeUndefined();
    expect(splitBy(3, config)).toBeUndefined();
  });
});

describe("shapes of real configurations", () => {
  test.each([
    {
      name: "Llama 3.1 8B",
      config: {
        architectures: ["LlamaForCausalLM"],
        hidden_size: 4096,
        num_attention_heads: 32,
        num_key_value_heads: 8,
        num_hidden_layers: 32,
        max_position_embeddings: 131_072,
        vocab_size: 128_256,
      },
      want: {
        architecture: "LlamaForCausalLM",
        layers: 32,
        kvHeads: [8],
        keyLength: 128,
        valueLength: 128,
        contextLength: 131_072,
        vocabulary: 128_256,
      },
    },
    {
      name: "Qwen3 32B, whose heads are wider than its width divided",
      config: {
        hidden_size: 5120,
        head_dim: 128,
        num_attention_heads: 64,
        num_key_value_heads: 8,
        num_hidden_layers: 64,
        sliding_window: null,
        use_sliding_window: false,
      },
      want: { keyLength: 128, kvHeads: [8], slidingWindow: undefined, slidingLayers: 0 },
    },
    {
      name: "DeepSeek V3, compressed",
      config: {
        hidden_size: 7168,
        num_attention_heads: 128,
        num_key_value_heads: 128,
        num_hidden_layers: 61,
        kv_lora_rank: 512,
        qk_rope_head_dim: 64,
        qk_nope_head_dim: 128,
        v_head_dim: 128,
        n_routed_experts: 256,
      },
      want: { latent: 576, keyLength: 192, valueLength: 128, experts: 256 },
    },
    {
      name: "gpt-oss, whose layers take turns",
      config: {
        num_hidden_layers: 4,
        sliding_window: 128,
        layer_types: ["sliding_attention", "full_attention", "sliding_attention", "full_attention"],
      },
      want: { slidingWindow: 128, slidingLayers: 2 },
    },
    {
      name: "Gemma 3, by a period",
      config: {
        text_config: { num_attention_heads: 8, num_hidden_layers: 34, sliding_window: 1024, sliding_window_pattern: 6 },
      },
      want: { slidingLayers: 29 },
    },
    {
      name: "no key and value heads named: as many as heads",
      config: { num_attention_heads: 12, hidden_size: 768 },
      want: { kvHeads: [12], keyLength: 64 },
    },
    {
      name: "Falcon: all heads share one",
      config: { num_attention_heads: 71, hidden_size: 4544, multi_query: true },
      want: { kvHeads: [1], keyLength: 64 },
    },
    {
      name: "a width that the heads do not divide",
      config: { num_attention_heads: 7, hidden_size: 100 },
      want: { keyLength: undefined },
    },
  ])("$name", ({ config, want }) => {
    expect(facts(config)).toMatchObject(want);
  });
});

test("no text whatever makes it throw, and no count in the answer is anything but a positive whole number or unknown", () => {
  const keys = [
    "num_attention_heads",
    "hidden_size",
    "num_hidden_layers",
    "text_config",
    "num_key_value_heads",
    "head_dim",
    "sliding_window",
    "layer_types",
  ];
  const config = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue()).map((raw) => JSON.stringify(raw));
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), config), (text) => {
      const result = parseModelConfig(text);
      if (!result.ok) return;
      const { layers, heads, keyLength, valueLength, latent, embedding, contextLength, vocabulary, kvHeads } =
        result.value;
      for (const count of [layers, heads, keyLength, valueLength, latent, embedding, contextLength, vocabulary]) {
        expect(count === undefined || (Number.isSafeInteger(count) && count > 0)).toBe(true);
      }
      expect(kvHeads.every((each) => Number.isSafeInteger(each) && each >= 0)).toBe(true);
    }),
  );
});
