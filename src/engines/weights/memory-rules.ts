import { type Bytes, bytes } from "../../core/ids.ts";

const MiB = 2 ** 20;

/** How an engine uses memory, as it would be started for one profile. */
export interface MemoryRules {
  /** layers: each GPU gets some layers whole. tensor: each gets a part of every layer, so the heads must divide. */
  readonly split: "layers" | "tensor";
  /** Tokens of all requests together that were asked for; undefined: what the model was trained for. */
  readonly context: number | undefined;
  /** Requests that it works on at once. */
  readonly slots: number;
  /** The slots share one cache; otherwise each has a part of its own. */
  readonly unified: boolean;
  /** Of one element of a key and of a value in the cache. */
  readonly keyBytes: number;
  readonly valueBytes: number;
  /** Tokens that are worked on in one step. */
  readonly batch: number;
  /** Layers with a sliding window keep everything all the same. */
  readonly keepsWindowsWhole: boolean;
  /** Of a model with compressed keys and values only the compressed vector is kept. */
  readonly keepsLatent: boolean;
  /** Of the host, for the process itself and what it keeps there beside the model. */
  readonly host: Bytes;
  /** Of each GPU, before anything is loaded. */
  readonly perGpu: Bytes;
  /** Of `host`: what fills only with use. Left out: nothing. */
  readonly grows?: Bytes;
  /** It fills the part of a GPU that it is given, whatever it needs. */
  readonly takesItsShare?: true;
  /** The engine does not compute on the CPU. */
  readonly gpuOnly?: true;
}

/** Bytes of one element, from the block layouts in ggml-common.h: values and their scale. */
export const CACHE_BYTES: Readonly<Record<string, number>> = {
  f32: 4,
  f16: 2,
  bf16: 2,
  fp8: 1,
  q8_0: 34 / 32,
  q5_1: 24 / 32,
  q5_0: 22 / 32,
  q4_1: 20 / 32,
  q4_0: 18 / 32,
  iq4_nl: 18 / 32,
};

/** A CUDA context with its libraries takes 300 to 500 MiB of each GPU that a process opens. */
export const CUDA_CONTEXT = bytes(500 * MiB);
