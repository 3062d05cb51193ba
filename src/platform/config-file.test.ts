import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readSecretFile } from "./config-file.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "llmgw-secret-file-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

test.each([
  { mode: 0o600, want: { ok: true, value: "s3cret" } },
  { mode: 0o644, want: { ok: false, error: "others may read it (mode 644): run `chmod 600 PATH`" } },
  { mode: 0o620, want: { ok: false, error: "others may read it (mode 620): run `chmod 600 PATH`" } },
])("a secret file of mode $mode", async ({ mode, want }) => {
  const path = join(folder, String(mode));
  await writeFile(path, "s3cret\n");
  await chmod(path, mode);
  const read = readSecretFile(path);
  expect(read.ok ? read : { ok: false, error: read.error.replace(path, "PATH") }).toEqual(want);
});

test("what is no file is told of as before", () => {
  expect(readSecretFile(join(folder, "none"))).toMatchObject({
    error: expect.stringContaining("there is no file") as string,
  });
  expect(readSecretFile(folder)).toMatchObject({ ok: false });
});
