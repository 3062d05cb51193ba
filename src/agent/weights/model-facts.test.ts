import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { bytes } from "../../core/ids.ts";
import type { HeldModel } from "../../core/node.ts";
import { GgufWriter } from "../../engines/llamacpp/gguf-writer.ts";
import { tinyGguf } from "../../engines/llamacpp/tiny-gguf.ts";
import { createFactsBook } from "./model-facts.ts";

let dir = "";
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "facts-"));
});
afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const held = (path: string): HeldModel => ({ source: `file:${path}`, path, bytes: bytes(1) });

async function place(name: string, content: Uint8Array | string): Promise<string> {
  const path = join(dir, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, content);
  return path;
}

const layersOf = async (path: string, book = createFactsBook()): Promise<number | undefined> =>
  (await book.added([held(path)]))[0]?.facts?.layers;

test("a GGUF, a folder with one, and a folder of safetensors", async () => {
  const file = await place("one/tiny.gguf", tinyGguf());
  await place("two/config.json", JSON.stringify({ num_hidden_layers: 7 }));
  await place("two/model.safetensors", "weights");
  expect(await layersOf(file)).toBe(2);
  expect(await layersOf(join(dir, "one"))).toBe(2);
  expect(await layersOf(join(dir, "two"))).toBe(7);
});

test("a header with 200,000 words is longer than the first read", async () => {
  const writer = new GgufWriter();
  writer.string("general.architecture", "big");
  writer.strings(
    "tokenizer.ggml.tokens",
    Array.from({ length: 200_000 }, (_, n) => `token ${String(n)}`),
  );
  writer.uint32("big.block_count", 9);
  const path = await place("big.gguf", writer.bytes([]));
  const [model] = await createFactsBook().added([held(path)]);
  expect(model?.facts).toMatchObject({ layers: 9, vocabulary: 200_000 });
});

test.each([
  { name: "a file that ends within its header", content: tinyGguf().subarray(0, 3000) },
  { name: "an empty file", content: new Uint8Array() },
  { name: "a page of a server that was down", content: "<html>502 Bad Gateway</html>" },
])("held without facts: $name", async ({ content }) => {
  const path = await place("bad.gguf", content);
  expect(await createFactsBook().added([held(path)])).toEqual([held(path)]);
});

test("a file that went away meanwhile is still the caller's to tell", async () => {
  const path = join(dir, "gone.gguf");
  expect(await createFactsBook().added([held(path)])).toEqual([held(path)]);
});

test("read once, and again when the file is another", async () => {
  const book = createFactsBook();
  const path = await place("config/config.json", JSON.stringify({ num_hidden_layers: 1 }));
  const folder = join(dir, "config");
  const at = new Date(1_700_000_000_000);
  const touched = async (file: number): Promise<number | undefined> => {
    await writeFile(path, JSON.stringify({ num_hidden_layers: file }));
    await utimes(path, at, at);
    await utimes(folder, at, at);
    return await layersOf(folder, book);
  };
  expect(await touched(1)).toBe(1);
  expect(await touched(2)).toBe(1);
  expect(await touched(10)).toBe(10);
  await utimes(path, new Date(), new Date());
  await writeFile(path, JSON.stringify({ num_hidden_layers: 3 }));
  expect(await layersOf(folder, book)).toBe(3);
});
