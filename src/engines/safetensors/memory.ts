import { bytes } from "../../core/ids.ts";
import type { Profile } from "../../core/profile.ts";
import { optionsOf } from "../options.ts";
import { countOf } from "../weights/count.ts";
import { CUDA_CONTEXT, type MemoryRules } from "../weights/memory-rules.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

/** What an engine calls its options of memory. */
export interface MemoryOptions {
  readonly context: readonly string[];
  readonly cacheType: readonly string[];
  /** Tokens that one step works on at most. */
  readonly stepTokens: readonly string[];
  readonly stepTokensUnsaid: number;
}

/** Recorded graphs of steps, and the buffers of the links between GPUs. */
const GRAPHS_AND_LINKS = 1536 * MiB;
/** A front process, one that schedules and one for each GPU, each with Python, torch and CUDA in it. */
const PROCESSES = 6 * GiB;

/**
 * Of a step's tokens only those that get a next one need the scores of every word, so that the largest step takes as much
 * as one of an eighth of it would where all need them.
 */
const SCORED = 1 / 8;

/**
 * What such an engine needs at least: the weights, a cache for one request of the full context, and room to compute. What
 * is left of its share of the GPU becomes cache as well.
 */
export function memoryRules(asked: Pick<Profile, "args" | "env" | "context">, options: MemoryOptions): MemoryRules {
  const said = optionsOf(asked.args);
  const element = elementBytes(said.value(...options.cacheType) ?? "auto");
  const step = countOf(said.number(...options.stepTokens)) ?? options.stepTokensUnsaid;
  return {
    split: "tensor",
    context: countOf(said.number(...options.context)) ?? asked.context,
    slots: 1,
    unified: true,
    keyBytes: element,
    valueBytes: element,
    batch: Math.ceil(step * SCORED),
    keepsWindowsWhole: false,
    keepsLatent: true,
    host: bytes(PROCESSES),
    perGpu: bytes(CUDA_CONTEXT + GRAPHS_AND_LINKS),
    gpuOnly: true,
    takesItsShare: true,
  };
}

/** Of one element in the cache, with its part of the scales. Left to itself an engine keeps the weights' half precision. */
function elementBytes(type: string): number {
  if (/^(fp8|int8|mxfp8)/.test(type)) return 1;
  if (/^(nvfp4|fp4|int4)/.test(type)) return 9 / 16;
  return 2;
}
