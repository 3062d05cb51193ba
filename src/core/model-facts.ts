import type { Bytes } from "./ids.ts";

/**
 * What a model's own header says of its shape: enough to know what its cache will take and how it can be split. Undefined
 * or empty: the header does not say, which is never the same as 1.
 */
export interface ModelFacts {
  readonly format: "gguf" | "safetensors";
  /** Such as llama or Qwen3ForCausalLM; "" unknown. */
  readonly architecture: string;
  readonly layers: number | undefined;
  /** Attention heads of one layer, of the part that writes text. */
  readonly heads: number | undefined;
  /** Key and value heads: one number for every layer, or one for each layer (0: a layer without a cache). Empty: unknown. */
  readonly kvHeads: readonly number[];
  /** Elements of one head's key and value. */
  readonly keyLength: number | undefined;
  readonly valueLength: number | undefined;
  /**
   * Elements that a layer keeps of a token where keys and values are compressed into one (MLA), by the engines that keep
   * only that. Undefined: they are not compressed.
   */
  readonly latent: number | undefined;
  readonly embedding: number | undefined;
  /** Tokens that a layer with a sliding window looks back on, and how many layers have one. */
  readonly slidingWindow: number | undefined;
  readonly slidingLayers: number;
  /** Tokens that it was trained for. */
  readonly contextLength: number | undefined;
  readonly vocabulary: number | undefined;
  readonly experts: number | undefined;
}

/** What was found out by asking a model's source, without fetching the model. */
export interface LookedModel {
  readonly source: string;
  readonly facts: ModelFacts | undefined;
  /** Of the files that would be fetched; undefined: the source did not say. */
  readonly weights: Bytes | undefined;
  /** Why there is less than everything, in words; "" when there is not. */
  readonly problem: string;
}
