import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readContextFile, saveContext } from "./context-file.ts";

let dir: string;
let path: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "llmgw-contexts-"));
  path = join(dir, "llmgw", "contexts.yaml");
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

const context = (port: number) => ({ server: `http://127.0.0.1:${String(port)}`, token: "secret" });

test("written for its owner only, current, and gone again with nothing left behind", async () => {
  const forget = await saveContext(path, "up", context(7443));
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(await readContextFile(path)).toEqual({ current: "up", contexts: { up: context(7443) } });
  await forget();
  expect(await readContextFile(path)).toEqual({ contexts: {} });
  expect(await readdir(join(dir, "llmgw"))).toEqual(["contexts.yaml"]);
});

test("several at once: none is lost", async () => {
  const ports = Array.from({ length: 8 }, (_, n) => 7000 + n);
  await Promise.all(ports.map((port) => saveContext(path, `up-${String(port)}`, context(port))));
  expect(Object.keys((await readContextFile(path)).contexts)).toHaveLength(ports.length);
});

test("the one before is current again, and a context of that name that is no longer ours stays", async () => {
  await saveContext(path, "lab", context(1));
  const forget = await saveContext(path, "up", context(2));
  await forget();
  expect((await readContextFile(path)).current).toBe("lab");

  const late = await saveContext(path, "up", context(2));
  await saveContext(path, "up", context(3));
  await late();
  expect((await readContextFile(path)).contexts["up"]).toEqual(context(3));
});

test("a file that cannot be understood is never overwritten", async () => {
  await saveContext(path, "up", context(1));
  await writeFile(path, "contexts: [");
  await expect(saveContext(path, "up", context(2))).rejects.toThrow(path);
});
