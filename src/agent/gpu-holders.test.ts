import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { cardAnswers, compileNvml, machineAnswers } from "../../test/fakes/nvml-library.ts";
import { gpuUuid } from "../core/ids.ts";
import { createGpuHolders, holdersIn } from "./gpu-holders.ts";

const standIn = await compileNvml();
const root = await mkdtemp(join(tmpdir(), "llmgw-holders-"));
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
  await standIn?.remove();
});

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
  expect(await createGpuHolders({ tool, preferNvml: false, env: process.env })([a], new Set([10]))).toEqual(want);
});

test("no tool at all holds nobody up", async () => {
  const none = { tool: join(root, "none"), preferNvml: true, libraries: [join(root, "none.so.1")], env: {} };
  expect(await createGpuHolders(none)([a], new Set([10]))).toEqual([]);
  expect(await createGpuHolders({ ...none, preferNvml: false })([a], new Set([10]))).toEqual([]);
});

test("a tool that was not named is looked for", async () => {
  const folder = join(root, "path");
  await mkdir(folder);
  await writeFile(join(folder, "nvidia-smi"), '#!/bin/sh\necho "GPU-a, 10"\n', { mode: 0o755 });
  const env = { PATH: `${folder}:/usr/bin:/bin` };
  expect(await createGpuHolders({ tool: "", preferNvml: false, env })([a], new Set([10]))).toEqual([10]);
});

describe.skipIf(standIn === undefined)("through the driver's library", () => {
  const held = async (answers: readonly string[], gpus: readonly string[], pids: readonly number[]) => {
    const library = (await standIn?.library(machineAnswers(2, [answers]))) ?? "";
    const options = { tool: join(root, "none"), preferNvml: true, libraries: [library], env: process.env };
    return createGpuHolders(options)(gpus.map(gpuUuid), new Set(pids));
  };
  const two = [...cardAnswers(0, { pids: "10 11" }), ...cardAnswers(1, { pids: "11 12 4294967295" })];

  test.each([
    { name: "only on the GPUs that are asked for", gpus: ["GPU-0"], pids: [10, 11, 12], want: [10, 11] },
    { name: "on several, each once", gpus: ["GPU-0", "GPU-1"], pids: [11, 12], want: [11, 12] },
    { name: "nobody of the launch's own", gpus: ["GPU-1"], pids: [10], want: [] },
    { name: "a card that is not there proves nothing", gpus: ["GPU-9"], pids: [10], want: [] },
  ])("$name", async ({ gpus, pids, want }) => {
    expect(await held(two, gpus, pids)).toEqual(want);
  });

  test("a slice has holders of its own", async () => {
    const cut = [
      ...cardAnswers(0, { mig: "1 1", slices: "2", pids: "10 11" }),
      ...["gpu 0 slice 0 uuid = MIG-a", "gpu 0 slice 0 pids = 10", "gpu 0 slice 1 uuid = MIG-b"],
      "gpu 0 slice 1 pids = 11",
    ];
    expect(await held(cut, ["MIG-b"], [10, 11])).toEqual([11]);
  });
});
