import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { facts, GiB, MiB, profile } from "../../../test/fakes/values.ts";
import { type Bytes, bytes } from "../../core/ids.ts";
import type { MemoryEstimate } from "../../core/memory-estimate.ts";
import type { ModelFacts } from "../../core/model-facts.ts";
import type { Profile } from "../../core/profile.ts";
import { memoryRules } from "../llamacpp/memory.ts";
import { estimate } from "./estimate.ts";
import { contextOf, kvBytesPerToken, kvCacheBytes } from "./kv-cache.ts";
import { CUDA_CONTEXT, type MemoryRules } from "./memory-rules.ts";
import { type KnownModel, modelNeeds } from "./needs.ts";

const llama8b = facts();

const rules = (more: Partial<Profile> = {}): MemoryRules => memoryRules(profile("m", more));
/** As engines work that give each GPU a part of every layer. */
const tensorRules: MemoryRules = { ...rules({ context: 8192 }), split: "tensor", keepsLatent: true };

describe("bytes of one token in the cache", () => {
  const deepseek = { ...llama8b, layers: 61, kvHeads: [128], keyLength: 192, valueLength: 128, latent: 576 };
  test.each([
    { name: "Llama 3.1 8B in f16", facts: llama8b, args: [], want: 131_072 },
    { name: "70B: 320 KiB", facts: { ...llama8b, layers: 80 }, args: [], want: 320 * 1024 },
    { name: "in q8_0: 34 bytes for 32 elements", facts: llama8b, args: ["-ctk", "q8_0", "-ctv", "q8_0"], want: 69_632 },
    { name: "keys alone in q4_0", facts: llama8b, args: ["--cache-type-k", "q4_0"], want: 65_536 + 18_432 },
    {
      name: "layers without a cache cost nothing",
      facts: { ...llama8b, layers: 4, kvHeads: [0, 8, 0, 8] },
      args: [],
      want: 8192,
    },
    { name: "compressed, by an engine that keeps heads", facts: deepseek, args: [], want: 61 * 128 * 320 * 2 },
  ])("$name", ({ facts, args, want }) => {
    expect(kvBytesPerToken(facts, rules({ args }))).toBe(want);
  });

  test.each([
    { name: "one GPU", facts: llama8b, tensor: 1, want: 131_072 },
    { name: "a fourth of the heads", facts: llama8b, tensor: 4, want: 32_768 },
    { name: "one head on each of 8", facts: llama8b, tensor: 8, want: 16_384 },
    { name: "16 GPUs and 8 heads: two GPUs keep the same head", facts: llama8b, tensor: 16, want: 16_384 },
    { name: "compressed: the whole vector on every GPU", facts: deepseek, tensor: 8, want: 61 * 576 * 2 },
  ])("of one of several GPUs: $name", ({ facts, tensor, want }) => {
    expect(kvBytesPerToken(facts, tensorRules, tensor)).toBe(want);
  });

  test.each(["layers", "keyLength", "valueLength"] as const)("unknown without %s", (missing) => {
    expect(kvBytesPerToken({ ...llama8b, [missing]: undefined }, rules())).toBeUndefined();
  });
});

describe("how many tokens the cache has room for", () => {
  test.each([
    { name: "four slots share what the model was trained for", more: {}, want: 131_072 },
    { name: "what the profile asks for", more: { context: 8192 }, want: 8192 },
    { name: "rounded up to 256", more: { context: 1000 }, want: 1024 },
    {
      name: "three slots with a part of their own, each rounded up",
      more: { context: 2048, args: ["-np", "3"] },
      want: 2304,
    },
    { name: "three slots that share", more: { context: 2048, args: ["-np", "3", "-kvu"] }, want: 2048 },
    {
      name: "the last word of several",
      more: { context: 2048, args: ["-kvu", "--parallel", "3", "-no-kvu"] },
      want: 2304,
    },
    { name: "the profile's own argument wins", more: { context: 2048, args: ["--ctx-size", "4096"] }, want: 4096 },
    { name: "the environment only when nothing else does", more: { env: { LLAMA_ARG_CTX_SIZE: "512" } }, want: 512 },
    {
      name: "the environment not when the profile says it",
      more: { context: 1024, env: { LLAMA_ARG_CTX_SIZE: "512" } },
      want: 1024,
    },
    { name: "0 is the model's own", more: { args: ["-c", "0"] }, want: 131_072 },
    { name: "an argument that is no number", more: { args: ["-c", "many"] }, want: 131_072 },
    { name: "an argument without its value", more: { args: ["-c"] }, want: 131_072 },
  ])("$name", ({ more, want }) => {
    expect(contextOf(llama8b, rules(more))).toBe(want);
  });
});

describe("the cache of layers with a sliding window", () => {
  const gemma = { ...llama8b, layers: 12, kvHeads: [4], slidingWindow: 1024, slidingLayers: 10, contextLength: 32_768 };
  const ofLayer = 4 * 256 * 2;
  test.each([
    // 4 slots share: 4 windows and the step.
    { name: "the windows of all slots and one step", args: [], cells: 4 * 1024 + 512 },
    { name: "no more than there is context", args: ["-c", "1024"], cells: 1024 },
    { name: "everything with --swa-full", args: ["--swa-full"], cells: 32_768 },
    // 2 slots apart: each one window and the step, 1536.
    { name: "each slot its own", args: ["-np", "2"], cells: 2 * 1536 },
  ])("$name", ({ args, cells }) => {
    const context = contextOf(gemma, rules({ args })) ?? 0;
    expect(kvCacheBytes(gemma, rules({ args }))).toBe(ofLayer * (2 * context + 10 * cells));
  });
});

describe("the whole of it", () => {
  const weights = bytes(5 * GiB);
  const on = (gpus: number, of = rules({ context: 8192 })): MemoryEstimate => {
    const made = estimate({ weights, facts: llama8b }, of, { gpus, pipeline: 1 });
    if (made === undefined) throw new Error("no estimate");
    return made;
  };

  test("8B on the CPU with 8192 tokens: 1 GiB of cache, and the parts add up", () => {
    const { kvCache, overhead, total, host, perGpu, context } = on(0);
    expect({ kvCache, perGpu, context }).toEqual({ kvCache: GiB, perGpu: 0, context: 8192 });
    // The process and the prompts that it keeps, and a step of 512 tokens.
    expect(overhead).toBe((150 + 1024) * MiB + 512 * 4 * (128_256 + 16 * 4096 + 8192));
    expect(total).toBe(weights + kvCache + overhead);
    expect(host).toBe(total);
  });

  test("over two GPUs by layers: 17 of 32 layers and the output on the fuller one", () => {
    const { perGpu, total, host, overhead } = on(2);
    const buffer = 512 * 4 * (128_256 + 16 * 4096 + 8192);
    expect(perGpu).toBe(Math.ceil((5 * GiB * 17) / 33) + Math.ceil((GiB * 17) / 33) + buffer + CUDA_CONTEXT);
    expect(total).toBe(weights + GiB + overhead);
    expect(host).toBe((150 + 1024) * MiB);
  });

  test("tensor 16 with 8 heads: the cache is there twice", () => {
    expect(on(16, tensorRules).kvCache).toBe(2 * GiB);
    expect(on(8, tensorRules).kvCache).toBe(GiB);
  });

  test("tensor 2 × pipeline 2: a half of each layer, and half of the layers", () => {
    const made = estimate({ weights, facts: { ...llama8b, layers: 31 } }, tensorRules, { gpus: 4, pipeline: 2 });
    const cache = 31 * 8 * 256 * 2 * 8192;
    const buffer = 512 * 4 * (128_256 + 16 * 4096 + 8192);
    expect(made?.perGpu).toBe(weights / 4 + cache / 4 + buffer + CUDA_CONTEXT);
  });
});

describe("what is known decides how good it is", () => {
  const of = (known: Partial<KnownModel>, more: Partial<Profile> = {}) =>
    modelNeeds(profile("m", more), { facts: llama8b, weights: bytes(5 * GiB), origin: "read", ...known }, rules(more));

  test("the header, the size, nothing", () => {
    expect(of({})).toMatchObject({ basis: "header", origin: "read", kvPerToken: 131_072 });
    const bySize = of({ facts: undefined });
    expect(bySize).toMatchObject({ basis: "size", kvPerToken: 0 });
    expect(bySize.onCpu.total).toBe(5 * GiB + GiB + 512 * MiB);
    expect(bySize.origin).toBe(
      "read, the size of the files only: the weights, a fifth of them for the cache, and 512 MiB",
    );
    const blind = of({ weights: undefined });
    expect(blind).toMatchObject({ basis: "default", onCpu: { total: GiB, host: GiB } });
  });

  test.each(["layers", "keyLength", "embedding", "contextLength"] as const)(
    "a header without %s is as good as none",
    (missing) => {
      expect(of({ facts: { ...llama8b, [missing]: undefined } }).basis).toBe("size");
    },
  );

  test.each([
    { name: "any number up to 8, or to the layers", known: {}, more: {}, want: [1, 2, 3, 4, 5, 6, 7, 8] },
    { name: "two layers", known: { facts: { ...llama8b, layers: 2 } }, more: {}, want: [1, 2] },
    { name: "what the profile says", known: {}, more: { resources: { gpus: 3, nodes: 1 } }, want: [3] },
    { name: "unknown layers", known: { facts: undefined }, more: {}, want: [1] },
  ])("GPUs that it can be split over: $name", ({ known, more, want }) => {
    expect(of(known, more).onGpus.map(({ gpus }) => gpus)).toEqual(want);
  });

  test("by heads only into what divides them", () => {
    const { onGpus } = modelNeeds(
      profile("m"),
      { facts: { ...llama8b, heads: 28 }, weights: bytes(GiB), origin: "read" },
      tensorRules,
    );
    expect(onGpus.map(({ gpus }) => gpus)).toEqual([1, 2, 4]);
  });
});

test("never anything but whole, finite, positive numbers, and never more on one GPU than in all", () => {
  const count = fc.option(fc.integer({ min: 1, max: 2 ** 20 }), { nil: undefined });
  const facts: fc.Arbitrary<ModelFacts> = fc.record({
    format: fc.constantFrom("gguf", "safetensors"),
    architecture: fc.constant("any"),
    layers: fc.option(fc.integer({ min: 1, max: 200 }), { nil: undefined }),
    heads: fc.option(fc.integer({ min: 1, max: 256 }), { nil: undefined }),
    kvHeads: fc.array(fc.nat({ max: 256 }), { maxLength: 5 }),
    keyLength: fc.option(fc.integer({ min: 1, max: 1024 }), { nil: undefined }),
    valueLength: fc.option(fc.integer({ min: 1, max: 1024 }), { nil: undefined }),
    latent: count,
    embedding: count,
    slidingWindow: count,
    slidingLayers: fc.nat({ max: 300 }),
    contextLength: count,
    vocabulary: count,
    experts: count,
  });
  const any = fc.record({
    facts: fc.option(facts, { nil: undefined }),
    weights: fc.option(
      fc.nat({ max: 2 ** 45 }).map((n): Bytes => bytes(n)),
      { nil: undefined },
    ),
    args: fc.array(
      fc.constantFrom("-np", "3", "-c", "0", "9000", "-kvu", "-ctk", "q4_0", "--swa-full", "-ub", "-1", "x"),
    ),
    split: fc.constantFrom("layers" as const, "tensor" as const),
    keepsLatent: fc.boolean(),
    pipeline: fc.integer({ min: 1, max: 4 }),
    gpus: fc.option(fc.integer({ min: 1, max: 16 }), { nil: undefined }),
  });
  fc.assert(
    fc.property(any, ({ facts: known, weights, args, split, keepsLatent, pipeline, gpus }) => {
      const asked = profile("m", {
        args,
        parallel: { tensor: 1, pipeline },
        resources: { nodes: 1, ...(gpus === undefined ? {} : { gpus }) },
      });
      const needs = modelNeeds(
        asked,
        { facts: known, weights, origin: "o" },
        { ...memoryRules(asked), split, keepsLatent },
      );
      for (const { weights: w, kvCache, overhead, total, perGpu, host } of [needs.onCpu, ...needs.onGpus]) {
        for (const size of [w, kvCache, overhead, total, perGpu, host])
          expect(Number.isFinite(size) && size >= 0).toBe(true);
        expect(w + kvCache + overhead).toBe(total);
        expect(perGpu).toBeLessThanOrEqual(total + 4);
      }
    }),
  );
});
