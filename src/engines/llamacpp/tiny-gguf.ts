import type { Tensor } from "./gguf-writer.ts";
import { llamaGguf } from "./llama-gguf.ts";

const LAYERS = 2;
const WIDTH = 64;
const HEADS = 4;
const FEED_FORWARD = 128;
/** Long, so that a test can keep one stream going for many seconds; the cache for it is 16 MiB. */
const CONTEXT = 32_768;
const SEED = 0x9e3779b9;

/** With it, a server started with --embeddings answers OpenAI's embeddings without being told a pooling. */
const POOLING_MEAN = 1;

const CHAT_TEMPLATE =
  "{% for m in messages %}{{ m.role + ': ' + m.content + '\\n' }}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}";

const NEVER = -2;

/**
 * How much the model likes to say each token: what it says is noise, but of letters and spaces, never of broken UTF-8. The
 * end of an answer is never said either: one is exactly as long as was asked for.
 */
const LIKINGS: readonly number[] = [
  ...[NEVER, NEVER, NEVER],
  ...Array.from({ length: 256 }, (_, byte) => likingOfByte(byte)),
  1.4,
];

function likingOfByte(byte: number): number {
  const isLetter = byte >= 0x61 && byte <= 0x7a;
  const isPrintable = byte > 0x20 && byte < 0x7f;
  if (isLetter) return 1;
  return isPrintable ? 0 : NEVER;
}

/** Mulberry32: the same numbers between 0 and 1 on every machine. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Fill = (row: number, column: number) => number;

function matrix(name: string, shape: readonly [number, number], fill: Fill): Tensor {
  const [columns, rows] = shape;
  const values = new Float32Array(columns * rows);
  for (let i = 0; i < values.length; i++) values[i] = fill(Math.floor(i / columns), i % columns);
  return { name, shape, values };
}

const ones = (name: string): Tensor => ({ name, shape: [WIDTH], values: new Float32Array(WIDTH).fill(1) });

/**
 * Column 0 of the hidden state is a constant: every embedding sets it, no layer writes to it, and the output matrix reads
 * the token's liking from it. All else is noise.
 */
function tensors(vocabulary: number): readonly Tensor[] {
  const random = seeded(SEED);
  const noise = (size: number): number => (random() * 2 - 1) * size;
  const keepsConstant: Fill = (row) => (row === 0 ? 0 : noise(0.15));
  const anything: Fill = () => noise(0.15);
  const layers = Array.from({ length: LAYERS }, (_, layer) => {
    const block = `blk.${String(layer)}`;
    return [
      ones(`${block}.attn_norm.weight`),
      matrix(`${block}.attn_q.weight`, [WIDTH, WIDTH], anything),
      matrix(`${block}.attn_k.weight`, [WIDTH, WIDTH], anything),
      matrix(`${block}.attn_v.weight`, [WIDTH, WIDTH], anything),
      matrix(`${block}.attn_output.weight`, [WIDTH, WIDTH], keepsConstant),
      ones(`${block}.ffn_norm.weight`),
      matrix(`${block}.ffn_gate.weight`, [WIDTH, FEED_FORWARD], anything),
      matrix(`${block}.ffn_up.weight`, [WIDTH, FEED_FORWARD], anything),
      matrix(`${block}.ffn_down.weight`, [FEED_FORWARD, WIDTH], keepsConstant),
    ];
  });
  return [
    matrix("token_embd.weight", [WIDTH, vocabulary], (_, column) => (column === 0 ? 4 : noise(1))),
    ...layers.flat(),
    ones("output_norm.weight"),
    matrix("output.weight", [WIDTH, vocabulary], (row, column) =>
      column === 0 ? (LIKINGS[row] ?? NEVER) : noise(0.35),
    ),
  ];
}

/**
 * A whole llama model of about half a megabyte, the same bytes every time. A real llama-server loads it at once and answers
 * with noise: enough to prove that a build runs, and to test with real slots, streams, usage and cancellation.
 */
export function tinyGguf(): Uint8Array {
  const shape = { layers: LAYERS, context: CONTEXT, width: WIDTH, feedForward: FEED_FORWARD, heads: HEADS };
  return llamaGguf({ ...shape, name: "llmgw tiny", pooling: POOLING_MEAN, template: CHAT_TEMPLATE }, tensors);
}
