import { describe, expect, test } from "vitest";
import { vllm } from "../vllm/index.ts";
import { sglang } from "../sglang/index.ts";

const rules = (engine: typeof vllm, args: readonly string[], context?: number) =>
  engine.memoryRules({ args, env: {}, ...(context === undefined ? {} : { context }) });

describe("what an engine for safetensors needs", () => {
  test.each([vllm, sglang])("$name cuts every layer, and a full context of one request must fit", (engine) => {
    expect(rules(engine, [], 32_768)).toMatchObject({
      ...{ split: "tensor", context: 32_768, slots: 1, unified: true, keepsLatent: true },
      ...{ keyBytes: 2, valueBytes: 2, batch: 1024 },
    });
  });

  test.each([
    { engine: vllm, args: ["--max-model-len", "4096"] },
    { engine: vllm, args: ["--max_model_len=4096"] },
    { engine: sglang, args: ["--context-length", "4096"] },
  ])("$args of $engine.name wins over the profile's context", ({ engine, args }) => {
    expect(rules(engine, args, 32_768).context).toBe(4096);
  });

  test.each([
    ["auto", 2],
    ["bfloat16", 2],
    ["fp8_e5m2", 1],
    ["fp8", 1],
    ["nvfp4", 9 / 16],
  ])("a cache of %s takes %d bytes an element", (type, size) => {
    expect(rules(vllm, ["--kv-cache-dtype", type])).toMatchObject({ keyBytes: size, valueBytes: size });
  });

  test("larger steps need more room", () => {
    expect(rules(vllm, ["--max-num-batched-tokens", "32768"]).batch).toBe(4096);
    expect(rules(sglang, ["--chunked-prefill-size", "-1"]).batch).toBe(1024);
  });
});
