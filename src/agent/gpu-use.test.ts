import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { cardAnswers, compileNvml, machineAnswers } from "../../test/fakes/nvml-library.ts";
import { gpuUuid } from "../core/ids.ts";
import { createGpuUse, useInTable } from "./gpu-use.ts";

const standIn = await compileNvml();
const root = await mkdtemp(join(tmpdir(), "llmgw-gpu-use-"));
afterAll(async () => {
  await rm(root, { recursive: true, force: true });
  await standIn?.remove();
});

const MiB = 2 ** 20;
const [a, b] = [gpuUuid("GPU-a"), gpuUuid("GPU-b")];
const table = "GPU-a, 10, 500\r\nGPU-a, 11, 200\nGPU-a, 99, 7000\n\nGPU-b, 10, 300\nGPU-b, 12, [N/A]\n";

describe("in the tool's table", () => {
  test.each([
    { name: "its own processes alone, added up", gpus: [a], pids: [10, 11], want: [{ uuid: a, bytes: 700 * MiB }] },
    {
      name: "each GPU apart",
      gpus: [a, b],
      pids: [10],
      want: [
        { uuid: a, bytes: 500 * MiB },
        { uuid: b, bytes: 300 * MiB },
      ],
    },
    { name: "a part that the driver does not tell makes the whole unknown", gpus: [b], pids: [10, 12], want: [] },
    { name: "one of two GPUs on which none of them is seen", gpus: [a, b], pids: [11], want: [] },
    { name: "a slice, which is listed under its card", gpus: [gpuUuid("MIG-x")], pids: [10], want: [] },
    { name: "pids of another name space", gpus: [a], pids: [1], want: [] },
    { name: "no GPUs", gpus: [], pids: [10], want: [] },
  ])("$name", ({ gpus, pids, want }) => {
    expect(useInTable(table, gpus, new Set(pids))).toEqual(want);
  });
});

test.each([
  { name: "a tool that answers", script: 'echo "GPU-a, 10, 40"', want: [{ uuid: a, bytes: 40 * MiB }] },
  { name: "a tool that fails", script: 'echo "GPU-a, 10, 40"; exit 9', want: [] },
])("$name", async ({ script, want }) => {
  const tool = join(root, "nvidia-smi");
  await writeFile(tool, `#!/bin/sh\n${script}\n`);
  await chmod(tool, 0o755);
  expect(await createGpuUse({ tool, preferNvml: false, env: process.env })([a], new Set([10]))).toEqual(want);
});

test("no tool and no library say nothing", async () => {
  const none = { tool: "", preferNvml: true, libraries: [join(root, "none.so.1")], env: { PATH: root } };
  const tool = { ...none, tool: join(root, "no-such-tool") };
  expect(await createGpuUse(tool)([a], new Set([10]))).toEqual([]);
});

test.skipIf(standIn === undefined)("through the driver's library, slices too", async () => {
  const answers = [
    ...cardAnswers(0, { mig: "1 1", slices: "1", pids: "10 11" }),
    ...["gpu 0 slice 0 uuid = MIG-a", "gpu 0 slice 0 pids = 11"],
  ];
  const library = (await standIn?.library(machineAnswers(1, [answers]))) ?? "";
  const options = { tool: join(root, "none"), preferNvml: true, libraries: [library], env: process.env };
  const use = createGpuUse(options);
  expect(await use([gpuUuid("GPU-0")], new Set([10, 11]))).toEqual([{ uuid: "GPU-0", bytes: 2 * MiB }]);
  expect(await use([gpuUuid("MIG-a")], new Set([11]))).toEqual([{ uuid: "MIG-a", bytes: MiB }]);
});
