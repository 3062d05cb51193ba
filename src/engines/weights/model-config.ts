import { messageOf } from "../../core/errors.ts";
import type { ModelFacts } from "../../core/model-facts.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { countOf } from "./count.ts";

/** The largest known ones, with per-layer lists of quantised modules, are under 1 MB. */
const MAX_TEXT = 8_000_000;

type Fields = Readonly<Record<string, unknown>>;

/** Where a model of several parts keeps what it says of the part that writes text. */
const TEXT_PARTS = ["text_config", "llm_config", "language_config", "language_model_config", "language_model"] as const;
/** Parts whose own text part is what counts. */
const OUTER_PARTS = ["thinker_config"] as const;

/** The same thing by the names that model families have for it. */
const NAMES = {
  heads: ["num_attention_heads", "n_head", "n_heads", "num_heads"],
  kvHeads: [
    "num_key_value_heads",
    "num_kv_heads",
    "n_head_kv",
    "multi_query_group_num",
    "num_key_value_heads_per_layer",
  ],
  layers: ["num_hidden_layers", "n_layer", "n_layers", "num_layers"],
  embedding: ["hidden_size", "n_embd", "d_model"],
  headLength: ["head_dim", "kv_channels", "attention_head_dim"],
  context: ["max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length"],
  vocabulary: ["vocab_size", "padded_vocab_size"],
  experts: ["num_local_experts", "num_experts", "n_routed_experts"],
} as const;

/**
 * Reads config.json as it lies beside safetensors. Of a model of several parts the one that writes text counts: the heads
 * of its eyes say nothing about how it can be split. What is not there, or not a count, is unknown.
 */
export function parseModelConfig(text: string): Result<ModelFacts, string> {
  if (text.length > MAX_TEXT) return err("it is longer than any model's config.json");
  try {
    const raw = asObject(JSON.parse(text));
    return raw === undefined ? err("it is no JSON object") : ok(factsOf(raw));
  } catch (error) {
    return err(`it is no JSON: ${messageOf(error)}`);
  }
}

function factsOf(raw: Fields): ModelFacts {
  const part = textPart(raw);
  const count = (names: readonly string[]): number | undefined => countOf(first(part, names));
  const layers = count(NAMES.layers);
  const heads = count(NAMES.heads);
  const embedding = count(NAMES.embedding);
  const headLength = count(NAMES.headLength) ?? quotient(embedding, heads);
  const window = slidingWindow(part, layers);
  return {
    format: "safetensors",
    architecture: architectureOf(raw),
    layers,
    heads,
    kvHeads: kvHeadsOf(part, heads),
    keyLength: count(["qk_head_dim"]) ?? compressedKey(part) ?? headLength,
    valueLength: count(["v_head_dim"]) ?? headLength,
    latent: latentOf(part),
    embedding,
    slidingWindow: window.tokens,
    slidingLayers: window.layers,
    contextLength: count(NAMES.context) ?? countOf(first(raw, NAMES.context)),
    vocabulary: count(NAMES.vocabulary) ?? countOf(first(raw, NAMES.vocabulary)),
    experts: count(NAMES.experts),
  };
}

/** The part that has the heads of the language model; the whole where there are no parts. */
function textPart(raw: Fields): Fields {
  for (const whole of [raw, ...partsOf(raw, OUTER_PARTS)]) {
    const inner = partsOf(whole, TEXT_PARTS);
    const found = inner.find((part) => first(part, NAMES.heads) !== undefined);
    if (found !== undefined) return found;
  }
  return raw;
}

const partsOf = (whole: Fields, names: readonly string[]): readonly Fields[] =>
  names.map((name) => asObject(whole[name])).filter((part) => part !== undefined);

const first = (part: Fields, names: readonly string[]): unknown =>
  names
    .map((name) => (Object.hasOwn(part, name) ? part[name] : undefined))
    .find((value) => value !== undefined && value !== null);

const architectureOf = (raw: Fields): string => {
  const listed: unknown = Array.isArray(raw["architectures"]) ? raw["architectures"][0] : undefined;
  const name = listed ?? raw["model_type"];
  return typeof name === "string" ? name.slice(0, 100) : "";
};

function kvHeadsOf(part: Fields, heads: number | undefined): readonly number[] {
  const value = first(part, NAMES.kvHeads);
  if (Array.isArray(value)) {
    const list: readonly unknown[] = value;
    const counts = list.flatMap((each) => (each === 0 ? [0] : (countOf(each) ?? [])));
    return counts.length === list.length ? counts : [];
  }
  if (value !== undefined) return listOf(countOf(value));
  // Falcon's way to say that all heads share one.
  if (part["multi_query"] === true) return [1];
  return listOf(heads);
}

const listOf = (count: number | undefined): readonly number[] => (count === undefined ? [] : [count]);

/** Multi-head latent attention: one compressed vector and the part of the key that carries positions. */
function latentOf(part: Fields): number | undefined {
  const rank = countOf(part["kv_lora_rank"]);
  const positions = countOf(part["qk_rope_head_dim"]);
  return rank === undefined || positions === undefined ? undefined : rank + positions;
}

function compressedKey(part: Fields): number | undefined {
  const plain = countOf(part["qk_nope_head_dim"]);
  const positions = countOf(part["qk_rope_head_dim"]);
  return plain === undefined || positions === undefined ? undefined : plain + positions;
}

interface Window {
  readonly tokens: number | undefined;
  readonly layers: number;
}

function slidingWindow(part: Fields, layers: number | undefined): Window {
  const tokens = countOf(part["sliding_window"]);
  if (tokens === undefined || part["use_sliding_window"] === false) return { tokens: undefined, layers: 0 };
  const types: unknown = part["layer_types"];
  if (Array.isArray(types)) {
    return { tokens, layers: types.filter((type) => type === "sliding_attention").length };
  }
  const period = countOf(part["sliding_window_pattern"]);
  // Nobody says which layers have it: all are taken to keep everything.
  if (period === undefined || layers === undefined) return { tokens, layers: 0 };
  return { tokens, layers: layers - Math.floor(layers / period) };
}

const asObject = (value: unknown): Fields | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

function quotient(whole: number | undefined, parts: number | undefined): number | undefined {
  return whole === undefined || parts === undefined ? undefined : countOf(whole / parts);
}
