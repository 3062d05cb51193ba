import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSmallFile } from "./small-file.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-small-"));
  await writeFile(join(folder, "key"), "sk-1\n", { mode: 0o600 });
  await writeFile(join(folder, "open"), "sk-1\n");
  await chmod(join(folder, "open"), 0o644);
  await writeFile(join(folder, "large"), "x".repeat(300_000), { mode: 0o600 });
  await mkdir(join(folder, "folder"));
  execFileSync("mkfifo", ["-m", "600", join(folder, "pipe")]);
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

test.each([
  ["key", true],
  ["open", false],
])("%s, secret: %s, is read", async (name, isSecret) => {
  expect(await readSmallFile(join(folder, name), { isSecret })).toEqual({ ok: true, value: "sk-1\n" });
});

test.each([
  ["open", true, "others may read"],
  ["none", true, "there is no file"],
  ["large", true, "is too large"],
  ["folder", false, "is no plain file"],
  ["pipe", true, "is no plain file"],
])("%s, secret: %s, is refused: %s", async (name, isSecret, why) => {
  const read = await readSmallFile(join(folder, name), { isSecret });
  expect(read).toEqual({ ok: false, error: expect.stringContaining(why) as unknown });
});
