import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { createGpuReader, jetsonGpu } from "./gpus.ts";
import { parseMeminfo } from "./meminfo.ts";

const root = await mkdtemp(join(tmpdir(), "llmgw-gpus-"));
afterAll(() => rm(root, { recursive: true, force: true }));

const host = parseMeminfo("MemTotal: 64349696 kB\nMemAvailable: 60000000 kB\n");

let tool = "";
let count = 0;
beforeEach(() => {
  tool = join(root, `nvidia-smi-${String(count++)}`);
});

/** A program in the tool's place that prints and ends as told. */
async function toolThat(script: string): Promise<void> {
  await rm(tool, { force: true });
  await writeFile(tool, `#!/bin/sh\n${script}\n`);
  await chmod(tool, 0o755);
}
const reader = () => createGpuReader({ tool, env: { PATH: "/usr/bin:/bin" } });

describe("while it runs", () => {
  test("B09 GPUs that cannot be read any more are the last known ones, not none", async () => {
    const read = reader();
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0'");
    expect(await read(host)).toMatchObject({ gpus: [{ uuid: "GPU-a", problem: undefined }], problems: [] });
    await toolThat("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18");
    const findings = await read(host);
    expect(findings.gpus).toEqual([
      expect.objectContaining({ uuid: "GPU-a", problem: expect.stringContaining("version mismatch") as unknown }),
    ]);
    expect(findings.problems).toEqual([expect.stringContaining("version mismatch")]);
    await toolThat("echo '0, NVIDIA A100, GPU-a, 40960, 40000, 960, 550, 8.0, 0000:01:00.0'");
    expect(await read(host)).toMatchObject({ gpus: [{ uuid: "GPU-a", problem: undefined }], problems: [] });
  });

  test("B06 a lost card is a problem of the node, with its name", async () => {
    await toolThat(
      "echo '0, RTX, GPU-a, 24576'; echo 'Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error'; exit 255",
    );
    const { gpus, problems } = await reader()(host);
    expect(gpus).toHaveLength(2);
    expect(problems).toEqual([expect.stringContaining("0000:0B:00.0")]);
  });
});

test("a tool that was named and is not there is a problem", async () => {
  expect(await reader()(host)).toMatchObject({ gpus: [], problems: [expect.stringContaining("discovery.nvidia_smi")] });
});

test("a tool that may not be executed is a problem", async () => {
  await writeFile(tool, "#!/bin/sh\n");
  await chmod(tool, 0o644);
  expect((await reader()(host)).problems).toEqual([expect.stringContaining("may not be executed")]);
});

test("an old tool is asked without the column it does not know", async () => {
  await toolThat(
    `case "$*" in *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;; esac\n` +
      "echo '0, Tesla K80, GPU-k, 11441, 11000, 441, 470.1, 0000:05:00.0'",
  );
  expect((await reader()(host)).gpus).toMatchObject([{ uuid: "GPU-k", driverVersion: "470.1", computeCapability: "" }]);
});

describe("B03 a board without the tool", () => {
  test("has one GPU with the host's memory, and no NUL in its name", () => {
    expect(jetsonGpu("NVIDIA Jetson AGX Orin Developer Kit\0", host)).toMatchObject({
      name: "NVIDIA Jetson AGX Orin Developer Kit",
      unified: true,
      memoryTotal: 65_894_088_704,
    });
  });

  test.each(["Raspberry Pi 5 Model B Rev 1.0\0", "linux,dummy-virt\0", ""])("%j has none", (board) => {
    expect(jetsonGpu(board, host)).toBeUndefined();
  });
});
