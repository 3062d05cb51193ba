import type { ModelFacts } from "../../core/model-facts.ts";
import type { MemoryRules } from "./memory-rules.ts";

/** llama.cpp rounds the cells of a cache up to a multiple of it. */
const CELLS = 256;

/** Bytes of one token in all layers together; undefined: the header does not say enough. */
export function kvBytesPerToken(facts: ModelFacts, rules: MemoryRules, tensor = 1): number | undefined {
  const { layers } = facts;
  if (layers === undefined) return undefined;
  // One vector for all heads: there is nothing in it to divide, so every GPU keeps the whole of it.
  if (rules.keepsLatent && facts.latent !== undefined) return layers * facts.latent * rules.keyBytes;
  const { keyLength, valueLength } = facts;
  if (keyLength === undefined || valueLength === undefined || facts.kvHeads.length === 0) return undefined;
  const heads = headsPerGpu(facts.kvHeads, layers, tensor);
  return heads * (keyLength * rules.keyBytes + valueLength * rules.valueBytes);
}

/** Of all layers together. A head cannot be cut: with more GPUs than heads, several keep the same one. */
function headsPerGpu(kvHeads: readonly number[], layers: number, tensor: number): number {
  const share = (heads: number): number => (heads === 0 ? 0 : Math.max(1, Math.ceil(heads / tensor)));
  const [each = 0] = kvHeads;
  return kvHeads.length === 1 ? layers * share(each) : kvHeads.reduce((sum, heads) => sum + share(heads), 0);
}

/** Tokens that the cache has room for; undefined: nobody says. */
export function contextOf(facts: ModelFacts, { context, slots, unified }: MemoryRules): number | undefined {
  const asked = context ?? facts.contextLength;
  if (asked === undefined) return undefined;
  return unified ? padded(asked) : padded(Math.floor(asked / slots)) * slots;
}

const padded = (tokens: number): number => Math.max(1, Math.ceil(tokens / CELLS)) * CELLS;

/** Bytes of the whole cache, or of one GPU's part of it; undefined: the header does not say enough. */
export function kvCacheBytes(facts: ModelFacts, rules: MemoryRules, tensor = 1): number | undefined {
  const perToken = kvBytesPerToken(facts, rules, tensor);
  const context = contextOf(facts, rules);
  if (perToken === undefined || context === undefined) return undefined;
  const sliding = slidingPart(facts, rules);
  return Math.ceil(perToken * (context * (1 - sliding) + windowCells(facts, rules, context) * sliding));
}

/** The part of the layers that keep a window only. */
function slidingPart({ layers, slidingLayers, slidingWindow }: ModelFacts, { keepsWindowsWhole }: MemoryRules): number {
  if (keepsWindowsWhole || slidingWindow === undefined || layers === undefined) return 0;
  return Math.min(1, slidingLayers / layers);
}

/** What a layer with a window keeps: the window of every request, and the step that is being worked on. */
function windowCells({ slidingWindow = 0 }: ModelFacts, { slots, unified, batch }: MemoryRules, all: number): number {
  const streams = unified ? 1 : slots;
  const each = padded(slidingWindow * (unified ? slots : 1) + batch);
  return Math.min(all, each * streams);
}
