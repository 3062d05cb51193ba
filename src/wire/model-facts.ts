import { create } from "@bufbuild/protobuf";
import type { MemoryEstimate } from "../core/memory-estimate.ts";
import type { ModelFacts } from "../core/model-facts.ts";
import {
  type MemoryEstimate as WireMemoryEstimate,
  MemoryEstimateSchema,
  type ModelFacts as WireModelFacts,
  ModelFactsSchema,
} from "./gen/llmgw/v1/common_pb.js";
import { toText, toUint32, zeroAsUnknown } from "./scalar.ts";

const FORMATS: readonly ModelFacts["format"][] = ["gguf", "safetensors"];
const count = (n: number): number => n;

export function factsToWire(facts: ModelFacts): WireModelFacts {
  return create(ModelFactsSchema, {
    format: facts.format,
    architecture: toText(facts.architecture),
    layers: toUint32(facts.layers),
    heads: toUint32(facts.heads),
    kvHeads: facts.kvHeads.map(toUint32),
    keyLength: toUint32(facts.keyLength),
    valueLength: toUint32(facts.valueLength),
    latent: toUint32(facts.latent),
    embedding: toUint32(facts.embedding),
    slidingWindow: toUint32(facts.slidingWindow),
    slidingLayers: toUint32(facts.slidingLayers),
    contextLength: toUint32(facts.contextLength),
    vocabulary: toUint32(facts.vocabulary),
    experts: toUint32(facts.experts),
  });
}

/** Undefined for a format that this version does not know: its numbers could mean something else. */
export function factsFromWire(message: WireModelFacts): ModelFacts | undefined {
  const format = FORMATS.find((known) => known === message.format);
  if (format === undefined) return undefined;
  return {
    format,
    architecture: message.architecture,
    layers: zeroAsUnknown(message.layers, count),
    heads: zeroAsUnknown(message.heads, count),
    kvHeads: [...message.kvHeads],
    keyLength: zeroAsUnknown(message.keyLength, count),
    valueLength: zeroAsUnknown(message.valueLength, count),
    latent: zeroAsUnknown(message.latent, count),
    embedding: zeroAsUnknown(message.embedding, count),
    slidingWindow: zeroAsUnknown(message.slidingWindow, count),
    slidingLayers: message.slidingLayers,
    contextLength: zeroAsUnknown(message.contextLength, count),
    vocabulary: zeroAsUnknown(message.vocabulary, count),
    experts: zeroAsUnknown(message.experts, count),
  };
}

export const estimateToWire = (estimate: MemoryEstimate): WireMemoryEstimate =>
  create(MemoryEstimateSchema, { ...estimate, gpus: toUint32(estimate.gpus), context: toUint32(estimate.context) });
