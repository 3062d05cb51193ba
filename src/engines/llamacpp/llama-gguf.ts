import { GgufWriter, type Tensor } from "./gguf-writer.ts";

const TOKEN_NORMAL = 1;
const TOKEN_UNKNOWN = 2;
const TOKEN_CONTROL = 3;
const TOKEN_BYTE = 6;
const ALL_F32 = 0;
const BYTES = 256;

const byteToken = (_: unknown, byte: number): string => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;

const UNKNOWN = 0;
const BEGIN = 1;
/** The token that ends an answer. */
export const END = 2;
/** What every vocabulary here begins with: the special ones, each byte, and a space. */
const TOKENS = ["<unk>", "<s>", "</s>", ...Array.from({ length: BYTES }, byteToken), "▁"];
const TYPES = [TOKEN_UNKNOWN, TOKEN_CONTROL, TOKEN_CONTROL, ...Array<number>(BYTES).fill(TOKEN_BYTE), TOKEN_NORMAL];

/** How many tokens a model with these pieces has. */
export const vocabularyOf = (pieces: readonly string[]): number => TOKENS.length + pieces.length;

export interface SmallLlama {
  readonly name: string;
  readonly layers: number;
  readonly context: number;
  readonly width: number;
  readonly feedForward: number;
  readonly heads: number;
  /** Left out: the file names none. */
  readonly pooling?: number;
  /** Pieces of text that are a token each, after those that every vocabulary begins with. */
  readonly pieces?: readonly string[];
  readonly template: string;
}

/** A whole model of llama's architecture as a file; `tensors` is told how many tokens there are. */
export function llamaGguf(model: SmallLlama, tensors: (vocabulary: number) => readonly Tensor[]): Uint8Array {
  const pieces = model.pieces ?? [];
  const tokens = [...TOKENS, ...pieces.map((piece) => piece.replaceAll(" ", "▁"))];
  const gguf = new GgufWriter();
  gguf.string("general.architecture", "llama");
  gguf.string("general.name", model.name);
  gguf.uint32("general.file_type", ALL_F32);
  gguf.uint32("llama.block_count", model.layers);
  gguf.uint32("llama.context_length", model.context);
  gguf.uint32("llama.embedding_length", model.width);
  gguf.uint32("llama.feed_forward_length", model.feedForward);
  gguf.uint32("llama.attention.head_count", model.heads);
  gguf.uint32("llama.attention.head_count_kv", model.heads);
  gguf.uint32("llama.rope.dimension_count", model.width / model.heads);
  gguf.float32("llama.attention.layer_norm_rms_epsilon", 1e-5);
  if (model.pooling !== undefined) gguf.uint32("llama.pooling_type", model.pooling);
  gguf.uint32("llama.vocab_size", tokens.length);
  gguf.string("tokenizer.ggml.model", "llama");
  gguf.strings("tokenizer.ggml.tokens", tokens);
  gguf.float32s(
    "tokenizer.ggml.scores",
    tokens.map((_, index) => -index),
  );
  gguf.int32s("tokenizer.ggml.token_type", [...TYPES, ...pieces.map(() => TOKEN_NORMAL)]);
  gguf.uint32("tokenizer.ggml.unknown_token_id", UNKNOWN);
  gguf.uint32("tokenizer.ggml.bos_token_id", BEGIN);
  gguf.uint32("tokenizer.ggml.eos_token_id", END);
  gguf.string("tokenizer.chat_template", model.template);
  return gguf.bytes(tensors(tokens.length));
}
