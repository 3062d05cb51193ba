import type { ModelFacts } from "../../core/model-facts.ts";
import { countOf } from "./count.ts";
import type { GgufHeader } from "./gguf-header.ts";

/**
 * Which layers look back on a window only, where the header leaves it to the architecture: of so many layers in a row all
 * but the last. From llama.cpp's own model definitions; an architecture that is not here is taken to keep everything.
 */
const WINDOW_PATTERN: Readonly<Record<string, number>> = {
  gemma2: 2,
  gemma3: 6,
  gemma3n: 5,
  cohere2: 4,
  "gpt-oss": 2,
};

/** What a GGUF header says of the model's shape. */
export function ggufFacts(header: GgufHeader): ModelFacts {
  const name = header.values.get("general.architecture");
  const architecture = typeof name === "string" ? name : "";
  const at = (key: string): number | undefined => countOf(header.values.get(`${architecture}.${key}`));
  const layers = at("block_count");
  const embedding = at("embedding_length");
  const heads = headsOf(header, `${architecture}.attention.head_count`);
  const headLength = quotient(embedding, heads);
  const slidingWindow = at("attention.sliding_window");
  return {
    format: "gguf",
    architecture,
    layers,
    heads,
    kvHeads: kvHeadsOf(header, architecture, heads),
    keyLength: at("attention.key_length") ?? headLength,
    valueLength: at("attention.value_length") ?? headLength,
    // What llama.cpp keeps of a token is what the header's own head counts and lengths say, also where it is compressed.
    latent: undefined,
    embedding,
    slidingWindow,
    slidingLayers: slidingWindow === undefined ? 0 : slidingLayersOf(header, architecture, layers),
    contextLength: at("context_length"),
    vocabulary: at("vocab_size") ?? countOf(header.lengths.get("tokenizer.ggml.tokens")),
    experts: at("expert_count"),
  };
}

/** How many files the model is split into; 1 when the header does not say. */
export const splitCount = ({ values }: GgufHeader): number => countOf(values.get("split.count")) ?? 1;

/** Where layers differ, there is no one number that could be divided. */
function headsOf({ values }: GgufHeader, key: string): number | undefined {
  const value = values.get(key);
  if (!isList(value)) return countOf(value);
  const distinct = new Set(value.filter((heads) => heads !== 0));
  return distinct.size === 1 ? countOf([...distinct][0]) : undefined;
}

function kvHeadsOf({ values }: GgufHeader, architecture: string, heads: number | undefined): readonly number[] {
  const value = values.get(`${architecture}.attention.head_count_kv`);
  if (isList(value)) return value.every((each) => each === 0 || countOf(each) !== undefined) ? value : [];
  const each = value === undefined ? heads : countOf(value);
  return each === undefined ? [] : [each];
}

function slidingLayersOf({ values }: GgufHeader, architecture: string, layers: number | undefined): number {
  const pattern = values.get(`${architecture}.attention.sliding_window_pattern`);
  if (isList(pattern)) return pattern.filter((slides) => slides !== 0).length;
  const period = countOf(pattern) ?? WINDOW_PATTERN[architecture];
  if (period === undefined || layers === undefined) return 0;
  return layers - Math.floor(layers / period);
}

const isList = (value: unknown): value is readonly number[] => Array.isArray(value);

function quotient(whole: number | undefined, parts: number | undefined): number | undefined {
  return whole === undefined || parts === undefined ? undefined : countOf(whole / parts);
}
