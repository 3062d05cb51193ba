import { describe, expect, test } from "vitest";
import { ENGINES, engineOf, resolveEngine } from "./list.ts";

const gguf = [{ name: "m.gguf", bytes: 1 }];
const safetensors = [{ name: "model.safetensors", bytes: 1 }];

describe("resolveEngine", () => {
  test.each(["auto", "llama.cpp"] as const)("%s takes a GGUF with llama.cpp", (requested) => {
    expect(resolveEngine(requested, gguf)).toMatchObject({
      ok: true,
      value: { engine: { name: "llama.cpp" }, files: ["m.gguf"], main: "m.gguf" },
    });
  });

  test("auto says why no engine takes the files", () => {
    const choice = resolveEngine("auto", safetensors);
    expect(choice.ok ? "" : choice.error).toMatch(/^llama\.cpp: no GGUF model/);
  });

  test("an engine that nothing here runs is refused by name", () => {
    const choice = resolveEngine("vllm", safetensors);
    expect(choice.ok ? "" : choice.error).toBe("the engine vllm cannot be run here; what can is llama.cpp");
  });
});

test("every engine is found by its name, and names are not repeated", () => {
  for (const engine of ENGINES) expect(engineOf(engine.name)).toBe(engine);
  expect(engineOf("sglang")).toBeUndefined();
});
