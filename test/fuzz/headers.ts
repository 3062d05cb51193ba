import { tinyGguf } from "../../src/engines/llamacpp/tiny-gguf.ts";
import { ggufFacts, splitCount } from "../../src/engines/weights/gguf-facts.ts";
import { parseGgufHeader } from "../../src/engines/weights/gguf-header.ts";
import { parseModelConfig } from "../../src/engines/weights/model-config.ts";
import { parseSafetensorsHeader, parseSafetensorsIndex } from "../../src/engines/weights/safetensors-header.ts";
import type { Chance } from "./chance.ts";
import { mutatedBytes, mutatedText, mutatedValue } from "./mutate.ts";
import { pureTarget } from "./target.ts";

/** The key-value part and some of the tensors. */
const GGUF = tinyGguf().subarray(0, 16_384);

const SAFETENSORS = {
  __metadata__: { format: "pt" },
  "model.layers.0.a": { dtype: "BF16", shape: [64, 32], data_offsets: [0, 4096] },
  "model.layers.0.b": { dtype: "F8_E4M3", shape: [10], data_offsets: [4096, 4106] },
};

const INDEX = {
  metadata: { total_size: 4106 },
  weight_map: { "model.layers.0.a": "model-00001-of-00002.safetensors" },
};

const CONFIG = {
  architectures: ["LlamaForCausalLM"],
  hidden_size: 4096,
  num_hidden_layers: 32,
  num_attention_heads: 32,
  num_key_value_heads: 8,
  max_position_embeddings: 131_072,
  vocab_size: 128_256,
  torch_dtype: "bfloat16",
  quantization_config: { quant_method: "fp8", bits: 8 },
  text_config: { head_dim: 128, layer_types: ["full_attention", "sliding_attention"], sliding_window: 4096 },
};

const PIECES = ["{", "}", "[", "]", ",", ":", '"', "null", "1e999", "-0", "\\u0000", '"__proto__":', "\ud800"];

function ggufCase(chance: Chance): void {
  // Most of what decides stands at the front.
  const short = GGUF.subarray(0, 64 + chance.length(GGUF.length - 64));
  const bytes = chance.is(0.9) ? mutatedBytes(chance, short) : chance.bytes(chance.length(2_000));
  if (chance.is(0.5)) GGUF.subarray(0, 4).forEach((byte, at) => (bytes[at] = byte));
  const header = parseGgufHeader(bytes);
  if (!header.ok) return;
  ggufFacts(header.value);
  splitCount(header.value);
}

function safetensorsBytes(chance: Chance): Buffer {
  const value = chance.is(0.7) ? mutatedValue(chance, SAFETENSORS) : SAFETENSORS;
  const json = Buffer.from(mutatedTextOf(chance, value));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(chance.is(0.8) ? json.length : chance.below(2 ** 31)));
  const whole = Buffer.concat([length, json]);
  return chance.is(0.2) ? mutatedBytes(chance, whole) : whole;
}

const mutatedTextOf = (chance: Chance, value: unknown): string => {
  const json = JSON.stringify(value);
  return chance.is(0.3) ? mutatedText(chance, json, PIECES) : json;
};

/** What weights say of themselves before anybody has checked them. */
export const headerTarget = pureTarget("weights' headers", (chance: Chance) => {
  const ways = [
    () => {
      ggufCase(chance);
    },
    () => void parseSafetensorsHeader(safetensorsBytes(chance)),
    () => void parseSafetensorsIndex(mutatedTextOf(chance, mutatedValue(chance, INDEX))),
    () => void parseModelConfig(mutatedTextOf(chance, mutatedValue(chance, CONFIG))),
  ];
  chance.pick(ways)();
});
