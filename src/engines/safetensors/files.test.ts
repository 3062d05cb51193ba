import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseFiles } from "./files.ts";

const offered = (names: readonly string[]) => names.map((name) => ({ name, bytes: 1 }));
const WORDS = ["tokenizer.json", "tokenizer_config.json"];
const SHARDS = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];

describe("chooseFiles", () => {
  test.each<{ name: string; offers: readonly string[]; files: readonly string[] }>([
    {
      name: "one file, and what stands beside it",
      offers: ["README.md", "LICENSE", "config.json", "generation_config.json", "model.safetensors", ...WORDS],
      files: ["config.json", "generation_config.json", "model.safetensors", ...WORDS],
    },
    {
      name: "all shards and their index",
      offers: ["config.json", ...SHARDS, "model.safetensors.index.json"],
      files: ["config.json", ...SHARDS, "model.safetensors.index.json"],
    },
    {
      name: "nothing twice: weights for other programs stay away",
      offers: [
        ...["config.json", "consolidated.safetensors", "original/consolidated.00.pth", "pytorch_model.bin"],
        ...["model.fp16.safetensors", "onnx/model.onnx", "model.safetensors"],
      ],
      files: ["config.json", "model.safetensors"],
    },
    {
      name: "words, templates and code of its own",
      offers: [
        ...["config.json", "model.safetensors", "vocab.txt", "merges.txt", "spiece.model", "qwen.tiktoken"],
        ...["chat_template.jinja", "additional_chat_templates/rag.jinja", "modeling_x.py", "training_args.bin"],
      ],
      files: [
        ...["additional_chat_templates/rag.jinja", "chat_template.jinja", "config.json", "merges.txt"],
        ...["model.safetensors", "modeling_x.py", "qwen.tiktoken", "spiece.model", "vocab.txt"],
      ],
    },
    {
      name: "the parts of a model that makes vectors",
      offers: [
        "config.json",
        "model.safetensors",
        "modules.json",
        "1_Pooling/config.json",
        "2_Dense/model.safetensors",
      ],
      files: ["1_Pooling/config.json", "2_Dense/model.safetensors", "config.json", "model.safetensors", "modules.json"],
    },
    {
      name: "weights by another name, when they are the only ones",
      offers: ["config.json", "weights-00001-of-00001.safetensors"],
      files: ["config.json", "weights-00001-of-00001.safetensors"],
    },
  ])("$name", ({ offers, files }) => {
    expect(chooseFiles(offered(offers))).toEqual({ ok: true, value: { files, main: "" } });
  });

  test.each<{ name: string; offers: readonly string[]; says: RegExp }>([
    { name: "GGUF", offers: ["m-Q4_K_M.gguf"], says: /it holds GGUF, which llama\.cpp loads/ },
    { name: "pickles", offers: ["config.json", "pytorch_model.bin"], says: /pickles, which can run code/ },
    { name: "an adapter", offers: ["adapter_model.safetensors", "adapter_config.json"], says: /LoRA adapter/ },
    {
      name: "weights for another program",
      offers: ["consolidated.safetensors", "params.json"],
      says: /another program/,
    },
    { name: "no shape", offers: ["model.safetensors"], says: /no config\.json beside the weights/ },
    {
      name: "a shard missing",
      offers: ["config.json", "model-00001-of-00003.safetensors"],
      says: /one of 3 shards, and 1 of them/,
    },
    {
      name: "several",
      offers: ["config.json", "a.safetensors", "b.safetensors"],
      says: /several models in this source: a\.safe/,
    },
    { name: "something else", offers: ["a.txt"], says: /it offers a\.txt/ },
    { name: "nothing", offers: [], says: /it offers no files/ },
  ])("refuses: $name", ({ offers, says }) => {
    const choice = chooseFiles(offered(offers));
    expect(choice.ok ? "" : choice.error).toMatch(says);
  });

  test("whatever is offered, only what was offered is chosen, and nothing twice", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("config.json", ...SHARDS, "model.safetensors", "x.safetensors", "y.bin")),
        (names) => {
          const choice = chooseFiles(offered(names));
          if (!choice.ok) return;
          expect(new Set(choice.value.files).size).toBe(choice.value.files.length);
          for (const file of choice.value.files) expect(names).toContain(file);
        },
      ),
    );
  });
});
