import { GgufWriter, type Tensor } from "../../src/engines/llamacpp/gguf-writer.ts";

/** Room for one dimension a piece, and one for everything that is none. */
const WIDTH = 64;
const HEADS = 1;
const FEED_FORWARD = 32;
const CONTEXT = 4_096;

const TOKEN = { normal: 1, unknown: 2, control: 3, byte: 6 } as const;
const ALL_F32 = 0;
const EOS = 2;
/** So much likelier than all else that no sampling finds another. */
const CERTAIN = 20;

interface Script {
  /** What it says, piece by piece, to whatever it is asked; then it stops. */
  readonly says: readonly string[];
  readonly template: string;
}

/**
 * A model for a real llama-server that says the same words each time: every token's embedding is a dimension of its own,
 * and the output matrix reads from it which comes next. So what an engine makes of a model's text can be tried for sure.
 */
export function scriptedGguf({ says, template }: Script): Uint8Array {
  const special = ["<unk>", "<s>", "</s>"];
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const tokens = [...special, ...bytes, "▁", ...says.map((piece) => piece.replaceAll(" ", "▁"))];
  const first = tokens.length - says.length;
  const types = [
    ...[TOKEN.unknown, TOKEN.control, TOKEN.control],
    ...bytes.map(() => TOKEN.byte),
    ...tokens.slice(special.length + bytes.length).map(() => TOKEN.normal),
  ];
  const gguf = new GgufWriter();
  gguf.string("general.architecture", "llama");
  gguf.string("general.name", "scripted");
  gguf.uint32("general.file_type", ALL_F32);
  gguf.uint32("llama.block_count", 1);
  gguf.uint32("llama.context_length", CONTEXT);
  gguf.uint32("llama.embedding_length", WIDTH);
  gguf.uint32("llama.feed_forward_length", FEED_FORWARD);
  gguf.uint32("llama.attention.head_count", HEADS);
  gguf.uint32("llama.attention.head_count_kv", HEADS);
  gguf.uint32("llama.rope.dimension_count", WIDTH / HEADS);
  gguf.float32("llama.attention.layer_norm_rms_epsilon", 1e-5);
  gguf.uint32("llama.vocab_size", tokens.length);
  gguf.string("tokenizer.ggml.model", "llama");
  gguf.strings("tokenizer.ggml.tokens", tokens);
  gguf.float32s(
    "tokenizer.ggml.scores",
    tokens.map((_, index) => -index),
  );
  gguf.int32s("tokenizer.ggml.token_type", types);
  gguf.uint32("tokenizer.ggml.unknown_token_id", 0);
  gguf.uint32("tokenizer.ggml.bos_token_id", 1);
  gguf.uint32("tokenizer.ggml.eos_token_id", EOS);
  gguf.string("tokenizer.chat_template", template);
  return gguf.bytes(tensors(tokens.length, first));
}

/** Whatever is not of the script begins it; its last piece ends it. */
function tensors(vocabulary: number, first: number): readonly Tensor[] {
  const dimensionOf = (token: number): number => Math.max(0, token - first + 1);
  const after = (token: number): number => (token === EOS ? dimensionOf(vocabulary - 1) : token - first);
  const ones = (name: string): Tensor => ({ name, shape: [WIDTH], values: new Float32Array(WIDTH).fill(1) });
  const zeros = (name: string, columns = WIDTH, rows = WIDTH): Tensor => ({
    name,
    shape: [columns, rows],
    values: new Float32Array(columns * rows),
  });
  const oneHot = (name: string, size: number, column: (token: number) => number): Tensor => {
    const matrix = zeros(name, WIDTH, vocabulary);
    for (let token = 0; token < vocabulary; token++) {
      const at = column(token);
      if (at >= 0) matrix.values[token * WIDTH + at] = size;
    }
    return matrix;
  };
  return [
    oneHot("token_embd.weight", 1, dimensionOf),
    ones("blk.0.attn_norm.weight"),
    zeros("blk.0.attn_q.weight"),
    zeros("blk.0.attn_k.weight"),
    zeros("blk.0.attn_v.weight"),
    zeros("blk.0.attn_output.weight"),
    ones("blk.0.ffn_norm.weight"),
    zeros("blk.0.ffn_gate.weight", WIDTH, FEED_FORWARD),
    zeros("blk.0.ffn_up.weight", WIDTH, FEED_FORWARD),
    zeros("blk.0.ffn_down.weight", FEED_FORWARD, WIDTH),
    ones("output_norm.weight"),
    oneHot("output.weight", CERTAIN, after),
  ];
}
