import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { piecePath, readPieceFile, writePieceFile } from "./piece-file.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-pieces-"));
});
afterEach(() => rm(folder, { recursive: true }));

const MIB = 1024 * 1024;
const file = { bytes: 9 * MIB, sha256: "ab".repeat(32) };
const pieces = ["11", "22", "33"].map((two) => two.repeat(32));
const path = (): string => join(folder, "m.gguf");

test("is read back as it was written, for the file that it was written for", async () => {
  await writePieceFile(path(), { ...file, pieces });
  expect(await readPieceFile(path(), file)).toEqual(pieces);
  expect(await readPieceFile(path(), { ...file, sha256: "cd".repeat(32) })).toBeUndefined();
  expect(await readPieceFile(path(), { ...file, bytes: 8 * MIB })).toBeUndefined();
});

test.each([
  ["one hash is another", (text: string) => text.replace("2222", "2223")],
  ["one hash is missing", (text: string) => text.replace(`,"${"33".repeat(32)}"`, "")],
  ["it is cut off", (text: string) => text.slice(0, 100)],
  ["it is empty", () => ""],
  ["it is of another kind", () => "[1]"],
])("says nothing when %s", async (_name, harm) => {
  await writePieceFile(path(), { ...file, pieces });
  await writeFile(piecePath(path()), harm(await readFile(piecePath(path()), "utf8")));
  expect(await readPieceFile(path(), file)).toBeUndefined();
});

test("a file of one piece needs none: the hash is that of the whole", async () => {
  const small = { bytes: MIB, sha256: file.sha256 };
  await writePieceFile(path(), { ...small, pieces: [small.sha256] });
  await expect(readFile(piecePath(path()))).rejects.toThrow("ENOENT");
  expect(await readPieceFile(path(), small)).toEqual([small.sha256]);
});
