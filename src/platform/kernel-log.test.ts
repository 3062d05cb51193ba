import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openKernelLog } from "./kernel-log.ts";

test("records are read once, and on from there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "llmgw-kmsg-"));
  const path = join(folder, "kmsg");
  await writeFile(path, "6,1,98,-;first; with a semicolon\n SUBSYSTEM=pci\n4,2,99,-,caller=T1;second\n");
  const log = openKernelLog(path);
  expect(log?.read()).toEqual(["first; with a semicolon", "second"]);
  expect(log?.read()).toEqual([]);
  await appendFile(path, "6,3,100,-;third\nrubbish\n");
  expect(log?.read()).toEqual(["third"]);
  log?.close();
  await rm(folder, { recursive: true });
});

test("a log that is not there is none", () => {
  expect(openKernelLog("/not/there")).toBeUndefined();
});
