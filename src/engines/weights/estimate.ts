import { type Bytes, bytes } from "../../core/ids.ts";
import type { MemoryEstimate } from "../../core/memory-estimate.ts";
import type { ModelFacts } from "../../core/model-facts.ts";
import { contextOf, kvCacheBytes } from "./kv-cache.ts";
import type { MemoryRules } from "./memory-rules.ts";

const MiB = 2 ** 20;

/** Without a header: a fifth of the weights for the cache and the buffers, and a fixed part for the process. */
const CACHE_OF_WEIGHTS = 0.2;
const PROCESS = 512 * MiB;

/** Working memory of a step, in multiples of the model's width: the states of a layer and of its feed-forward part. */
const STATES = 16;
const FLOAT = 4;
const LEAST_BUFFER = 64 * MiB;

/** How one replica is spread: GPUs on one node, of which each holds one part of `pipeline`. 0 GPUs: the CPU. */
export interface Spread {
  readonly gpus: number;
  readonly pipeline: number;
}

export interface Weighed {
  /** Of all files that are loaded. */
  readonly weights: Bytes;
  readonly facts: ModelFacts;
}

/** Undefined: the header does not say enough, so that only the size of the files is left to go by. */
export function estimate({ weights, facts }: Weighed, rules: MemoryRules, spread: Spread): MemoryEstimate | undefined {
  const context = contextOf(facts, rules);
  const buffer = computeBuffer(facts, rules, context ?? 0);
  if (context === undefined || buffer === undefined) return undefined;
  const { gpus } = spread;
  const cache = cacheOn(facts, rules, spread);
  if (cache === undefined) return undefined;
  if (gpus === 0) {
    return sumOf({ gpus, weights, kvCache: cache.total, overhead: buffer + rules.host, context, perGpu: 0 }, undefined);
  }
  const perGpu = Math.ceil(weights * cache.share) + cache.perGpu + buffer + rules.perGpu;
  const overhead = (buffer + rules.perGpu) * gpus;
  return sumOf({ gpus, weights, kvCache: cache.total, overhead, context, perGpu }, rules.host);
}

/** What can be said from the size of the files alone. */
export function estimateBySize(weights: Bytes, gpus: number, host: Bytes): MemoryEstimate {
  const kvCache = Math.ceil(weights * CACHE_OF_WEIGHTS);
  const parts = { gpus, weights, kvCache, context: undefined };
  if (gpus === 0) return sumOf({ ...parts, overhead: PROCESS, perGpu: 0 }, undefined);
  const perGpu = Math.ceil((weights + kvCache) / gpus) + PROCESS;
  return sumOf({ ...parts, overhead: PROCESS * gpus, perGpu }, host);
}

/** A replica of which nothing is known but that it takes something. */
export const estimateByDefault = (gpus: number, guess: Bytes): MemoryEstimate =>
  sumOf({ gpus, weights: 0, kvCache: 0, overhead: guess, context: undefined, perGpu: gpus === 0 ? 0 : guess }, guess);

interface Parts {
  readonly gpus: number;
  readonly weights: number;
  readonly kvCache: number;
  readonly overhead: number;
  readonly perGpu: number;
  readonly context: number | undefined;
}

/** On the CPU the host gives all of it (`host` undefined); on GPUs only what is said. */
function sumOf(parts: Parts, host: Bytes | undefined): MemoryEstimate {
  const total = bytes(parts.weights + parts.kvCache + parts.overhead);
  return {
    gpus: parts.gpus,
    weights: bytes(parts.weights),
    kvCache: bytes(parts.kvCache),
    overhead: bytes(parts.overhead),
    total,
    perGpu: bytes(parts.perGpu),
    host: host ?? total,
    context: parts.context,
  };
}

/**
 * The buffer that a step computes in: the scores of every word for each token of the step, the states of a layer, and which
 * token sees which. For an 8B model about 0.4 GiB, growing with the context.
 */
function computeBuffer(
  { vocabulary, embedding }: ModelFacts,
  { batch }: MemoryRules,
  context: number,
): number | undefined {
  if (embedding === undefined) return undefined;
  const perToken = (vocabulary ?? 0) + embedding * STATES + context;
  return Math.max(LEAST_BUFFER, Math.ceil(batch * FLOAT * perToken));
}

interface CacheOnGpus {
  readonly total: number;
  readonly perGpu: number;
  /** The largest part of the weights on one GPU. */
  readonly share: number;
}

function cacheOn(facts: ModelFacts, rules: MemoryRules, { gpus, pipeline }: Spread): CacheOnGpus | undefined {
  if (gpus === 0 || rules.split === "layers") {
    const total = kvCacheBytes(facts, rules);
    if (total === undefined) return undefined;
    const share = largestShare(facts.layers ?? 1, Math.max(1, gpus));
    return { total, perGpu: Math.ceil(total * share), share };
  }
  const stages = Math.max(1, pipeline);
  const tensor = Math.max(1, Math.floor(gpus / stages));
  const ofAllLayers = kvCacheBytes(facts, rules, tensor);
  if (ofAllLayers === undefined) return undefined;
  const stage = largestShare(facts.layers ?? 1, stages);
  return { total: ofAllLayers * tensor, perGpu: Math.ceil(ofAllLayers * stage), share: stage / tensor };
}

/** Of layers that can only go whole, the output among them. */
const largestShare = (layers: number, parts: number): number => Math.ceil((layers + 1) / parts) / (layers + 1);
