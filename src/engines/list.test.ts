import { describe, expect, test } from "vitest";
import { ENGINES, engineOf, resolveEngine } from "./list.ts";

const gguf = [{ name: "m.gguf", bytes: 1 }];
const safetensors = ["config.json", "model.safetensors"].map((name) => ({ name, bytes: 1 }));

describe("resolveEngine", () => {
  test.each(["auto", "llama.cpp"] as const)("%s takes a GGUF with llama.cpp", (requested) => {
    expect(resolveEngine(requested, gguf)).toMatchObject({
      ok: true,
      value: { engine: { name: "llama.cpp" }, files: ["m.gguf"], main: "m.gguf" },
    });
  });

  test.each([
    { requested: "auto", name: "vllm" },
    { requested: "vllm", name: "vllm" },
    { requested: "sglang", name: "sglang" },
  ])("$requested takes safetensors with $name, which is pointed at the folder", ({ requested, name }) => {
    expect(resolveEngine(requested, safetensors)).toMatchObject({
      ok: true,
      value: { engine: { name }, files: ["config.json", "model.safetensors"], main: "" },
    });
  });

  test("auto says why no engine takes the files", () => {
    const choice = resolveEngine("auto", [{ name: "model.onnx", bytes: 1 }]);
    expect(choice.ok ? "" : choice.error).toMatch(/^llama\.cpp: no GGUF model.*; vllm: no safetensors.*; sglang: /);
  });

  test("an engine that nothing here runs is refused by name", () => {
    const choice = resolveEngine("tgi", safetensors);
    expect(choice.ok ? "" : choice.error).toBe(
      "the engine tgi cannot be run here; what can is llama.cpp, vllm, sglang",
    );
  });
});

test("every engine is found by its name, and names are not repeated", () => {
  for (const engine of ENGINES) expect(engineOf(engine.name)).toBe(engine);
  expect(engineOf("tgi")).toBeUndefined();
});
