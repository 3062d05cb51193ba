import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { AppendFile, readAppended } from "./append-file.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-append-"));
});
afterAll(() => rm(folder, { recursive: true }));

test("what was added is there, in order, for nobody else", async () => {
  const path = join(folder, "a");
  const file = await AppendFile.create(path);
  await file.append(Buffer.from("one\n"));
  await file.append(Buffer.from("zwö\n"));
  expect(file.size).toBe(9);
  await file.close();
  expect(await readFile(path, "utf8")).toBe("one\nzwö\n");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  await expect(AppendFile.create(path)).rejects.toThrow();
});

test.each([
  ["whole", "a\nb\n", ["a", "b"], false],
  ["torn", "a\nb", ["a"], true],
  ["nothing", "", [], false],
  ["only a part", "{", [], true],
])("%s", async (name, text, lines, torn) => {
  const path = join(folder, name);
  await writeFile(path, text);
  expect(await readAppended(path)).toEqual({ lines, torn });
});

test("no file is no failure", async () => {
  expect(await readAppended(join(folder, "none"))).toBeUndefined();
});
