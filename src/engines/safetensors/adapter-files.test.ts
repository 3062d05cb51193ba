import { expect, test } from "vitest";
import { chooseAdapterFiles } from "./adapter-files.ts";

const both = ["adapter_config.json", "adapter_model.safetensors"];

test.each<{ name: string; files: readonly string[]; want: RegExp | undefined }>([
  { name: "an adapter among other files", files: [...both, "README.md", "tokenizer.json"], want: undefined },
  {
    name: "no configuration",
    files: ["adapter_model.safetensors"],
    want: /there is no adapter_config\.json at its top$/,
  },
  { name: "a pickle", files: ["adapter_config.json", "adapter_model.bin"], want: /a pickle, which can run code/ },
  { name: "a GGUF", files: ["a.gguf"], want: /a GGUF, which llama\.cpp loads/ },
  { name: "a model", files: ["config.json", "model.safetensors"], want: /^it is no LoRA adapter: .* and no / },
  { name: "one in a folder", files: both.map((name) => `checkpoint-9/${name}`), want: /^it is no LoRA adapter/ },
])("$name", ({ files, want }) => {
  const chosen = chooseAdapterFiles(files.map((name) => ({ name, bytes: 1 })));
  if (want === undefined) expect(chosen).toEqual({ ok: true, value: { files: both, main: "" } });
  else expect(chosen).toMatchObject({ ok: false, error: expect.stringMatching(want) as string });
});
