import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { formatRecord, RECORD_NAME } from "./weights/record.ts";
import { identifyModel } from "./model-identity.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-identity-"));
afterAll(() => rm(root, { recursive: true, force: true }));

let count = 0;
/** A folder with the files, and what was written down of them when they were fetched. */
async function model(files: Readonly<Record<string, string>>, digests?: Readonly<Record<string, string>>) {
  const folder = join(root, String(count++));
  await mkdir(folder);
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  if (digests !== undefined) {
    const held = Object.entries(digests).map(([name, sha256]) => ({ name, bytes: files[name]?.length ?? 0, sha256 }));
    await writeFile(join(folder, RECORD_NAME), formatRecord({ identities: [], offered: [], held, models: [] }));
  }
  return identifyModel({ modelPath: folder, files: Object.keys(files).map((name) => join(folder, name)), folder });
}

const FILES = { "config.json": "{}", "model.safetensors": "weights" };

test("the same on nodes that hold the same, wherever it is", async () => {
  const [a, b] = [await model(FILES), await model(FILES)];
  expect(a).toEqual(b);
  expect(a.digest).toBe("");
});

test("another size, another name, or one file more is another revision", async () => {
  const { weights } = await model(FILES);
  expect((await model({ ...FILES, "config.json": "{ }" })).weights).not.toBe(weights);
  expect((await model({ ...FILES, "tokenizer.json": "" })).weights).not.toBe(weights);
});

test("what was fetched is known by its contents, unless one file is not what it was then", async () => {
  const digests = { "config.json": "d1", "model.safetensors": "d2" };
  const known = await model(FILES, digests);
  expect(known.digest).not.toBe("");
  expect((await model(FILES, { ...digests, "model.safetensors": "d3" })).digest).not.toBe(known.digest);
  expect((await model(FILES, { "config.json": "d1" })).digest).toBe("");
});
