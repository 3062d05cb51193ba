import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { profileName } from "../core/ids.ts";
import { llamacpp } from "../engines/llamacpp/index.ts";
import { tinyGguf } from "../engines/llamacpp/tiny-gguf.ts";
import { vllm } from "../engines/vllm/index.ts";
import { whySplitFails } from "./split-check.ts";

const folder = await mkdtemp(join(tmpdir(), "llmgw-split-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

const uncut = { profile: profileName("big"), args: [], env: {} };
const replica = (tensor: number, pipeline = 1) => ({ ...uncut, parallel: { tensor, pipeline } });

describe("with weights that say 64 heads and 80 layers", async () => {
  const config = {
    architectures: ["LlamaForCausalLM"],
    num_attention_heads: 64,
    num_hidden_layers: 80,
    hidden_size: 8192,
  };
  await writeFile(join(folder, "config.json"), JSON.stringify(config));
  const prepared = { engine: vllm, modelPath: folder, folder };

  test.each([
    { name: "even parts", of: replica(8), want: undefined },
    {
      name: "uneven parts",
      of: replica(6),
      want: "big: the model has 64 attention heads, which 6 GPUs cannot share evenly; set parallel.tensor to 4 or 8",
    },
    {
      name: "more parts than layers",
      of: replica(1, 96),
      want: "big: the model has 80 layers, which cannot be cut into 96 parts; set parallel.pipeline to 80 or less",
    },
    { name: "no cut", of: uncut, want: undefined },
  ])("$name", async ({ of, want }) => {
    expect(await whySplitFails(of, prepared)).toBe(want);
  });

  test("an engine that gives whole layers to its GPUs cuts no heads", async () => {
    await writeFile(join(folder, "m.gguf"), tinyGguf());
    const gguf = { engine: llamacpp, modelPath: join(folder, "m.gguf"), folder };
    expect(await whySplitFails(replica(7), gguf)).toBeUndefined();
  });

  test("weights that say nothing hold nobody up", async () => {
    const none = join(folder, "none");
    expect(await whySplitFails(replica(6), { engine: vllm, modelPath: none, folder: none })).toBeUndefined();
  });
});
