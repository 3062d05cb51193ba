import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { gpuUuid } from "../core/ids.ts";
import { createGpuHolders, holdersIn } from "./gpu-holders.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-holders-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const [a, b] = [gpuUuid("GPU-a"), gpuUuid("GPU-b")];
const table = "GPU-a, 10\r\nGPU-b, 11\n\nGPU-a, 12\nGPU-a, [N/A]\nGPU-a, 10\n";

test.each([
  { name: "only on the GPUs that are asked for, each once", gpus: [a], pids: [10, 11, 12], want: [10, 12] },
  { name: "only those that are the launch's own", gpus: [a, b], pids: [11], want: [11] },
  { name: "a slice is listed under its card", gpus: [gpuUuid("MIG-x")], pids: [11], want: [11] },
  { name: "nobody", gpus: [a], pids: [99], want: [] },
])("$name", ({ gpus, pids, want }) => {
  expect(holdersIn(table, gpus, new Set(pids))).toEqual(want);
});

test.each([
  { name: "a tool that answers", script: 'echo "GPU-a, 10"', want: [10] },
  { name: "a tool that fails", script: 'echo "GPU-a, 10"; exit 9', want: [] },
  { name: "a tool that says something else", script: "echo No devices were found", want: [] },
])("$name", async ({ script, want }) => {
  const tool = join(root, "nvidia-smi");
  await writeFile(tool, `#!/bin/sh\n${script}\n`);
  await chmod(tool, 0o755);
  expect(await createGpuHolders({ tool, env: process.env })([a], new Set([10]))).toEqual(want);
});

test("no tool at all holds nobody up", async () => {
  expect(await createGpuHolders({ tool: join(root, "none"), env: {} })([a], new Set([10]))).toEqual([]);
});
