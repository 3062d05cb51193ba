import { GgufWriter, type Tensor } from "../../src/engines/llamacpp/gguf-writer.ts";
import { END, llamaGguf, vocabularyOf } from "../../src/engines/llamacpp/llama-gguf.ts";

/** Room for one dimension a piece, and one for everything that is none. */
const WIDTH = 64;
const HEADS = 1;
const FEED_FORWARD = 32;
const CONTEXT = 4_096;

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
  const shape = { layers: 1, context: CONTEXT, width: WIDTH, feedForward: FEED_FORWARD, heads: HEADS };
  return llamaGguf({ ...shape, name: "scripted", pieces: says, template }, (vocabulary) =>
    tensors(vocabulary, vocabulary - says.length),
  );
}

/** An adapter for {@link scriptedGguf}'s model: with it the words begin at that piece. `width` is that of the model it is for. */
export function scriptedAdapter({ says, beginsAt, width = WIDTH }: Turn): Uint8Array {
  const vocabulary = vocabularyOf(says);
  const gguf = new GgufWriter();
  gguf.string("general.type", "adapter");
  gguf.string("general.architecture", "llama");
  gguf.string("adapter.type", "lora");
  gguf.float32("adapter.lora.alpha", 1);
  const [reads, writes] = [new Float32Array(width), new Float32Array(vocabulary)];
  // The first dimension is whatever is not of the script.
  reads[0] = 1;
  writes[vocabulary - says.length + beginsAt] = 5 * CERTAIN;
  return gguf.bytes([
    { name: "output.weight.lora_a", shape: [width, 1], values: reads },
    { name: "output.weight.lora_b", shape: [1, vocabulary], values: writes },
  ]);
}

interface Turn extends Pick<Script, "says"> {
  readonly beginsAt: number;
  readonly width?: number;
}

/** Whatever is not of the script begins it; its last piece ends it. */
function tensors(vocabulary: number, first: number): readonly Tensor[] {
  const dimensionOf = (token: number): number => Math.max(0, token - first + 1);
  const after = (token: number): number => (token === END ? dimensionOf(vocabulary - 1) : token - first);
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
