import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bytes } from "../../core/ids.ts";
import { parseMeminfo, within } from "./meminfo.ts";
import { QUERY, readGpus } from "./nvidia-smi.ts";

const MIB = 1024 * 1024;
const meminfo = (total: number, available: number) =>
  parseMeminfo(`MemTotal:       ${String(total)} kB\nMemFree: 1 kB\nMemAvailable:   ${String(available)} kB\n`);
const big = meminfo(2 * 1024 * 1024 * 1024, 1024 * 1024 * 1024);

function read(stdout: string, { code = 0, stderr = "", host = big } = {}) {
  return readGpus({ code, stdout, stderr }, QUERY, host);
}
const gpusOf = (...args: Parameters<typeof read>) => {
  const reading = read(...args);
  if (reading.kind !== "read") throw new Error(JSON.stringify(reading));
  return reading.gpus;
};

test("a plain machine", () => {
  const stdout =
    "0, NVIDIA H100 80GB HBM3, GPU-a, 81559, 81000, 559, 550.144.03, 9.0, 00000000:1B:00.0\n" +
    "1, NVIDIA H100 80GB HBM3, GPU-b, 81559, 1000, 80559, 550.144.03, 9.0, 00000000:43:00.0\n";
  expect(gpusOf(stdout)).toEqual([
    expect.objectContaining({
      uuid: "GPU-a",
      index: 0,
      memoryTotal: 81_559 * MIB,
      memoryFree: 81_000 * MIB,
      unified: false,
    }),
    {
      uuid: "GPU-b",
      index: 1,
      name: "NVIDIA H100 80GB HBM3",
      memoryTotal: 81_559 * MIB,
      memoryFree: 1000 * MIB,
      unified: false,
      problem: undefined,
      driverVersion: "550.144.03",
      computeCapability: "9.0",
      pciBusId: "0000:43:00.0",
      numaNode: undefined,
      links: [],
      parent: undefined,
    },
  ]);
});

describe("unified memory", () => {
  test("B01 a GB10 that prints [N/A] for every size has the host's memory", () => {
    const stdout = "0, NVIDIA GB10, GPU-00000000-0000-0000-0000-000000000001, [N/A], [N/A], [N/A]\n";
    expect(gpusOf(stdout, { host: meminfo(125_489_152, 7_790_016) })).toEqual([
      expect.objectContaining({ unified: true, memoryTotal: 128_500_891_648, memoryFree: 7_976_976_384 }),
    ]);
  });

  test.each([
    {
      name: "a GB10 that counts only its own side",
      row: "NVIDIA GB10, GPU-2, 121694, 118000, 3694",
      total: 124_614_656,
      unified: true,
      free: 21_474_836_480,
    },
    {
      name: "an H100 in a big host",
      row: "NVIDIA H100 80GB HBM3, GPU-2, 81559, 81000, 559",
      total: 2_147_483_648,
      unified: false,
      free: 81_000 * MIB,
    },
    {
      name: "a card as big as its host",
      row: "NVIDIA GeForce RTX 4090, GPU-2, 24564, 24000, 564",
      total: 25_165_824,
      unified: false,
      free: 24_000 * MIB,
    },
  ])("B02 $name", ({ row, total, unified, free }) => {
    const host = meminfo(total, 20_971_520);
    expect(gpusOf(`0, ${row}\n`, { host })).toEqual([expect.objectContaining({ unified, memoryFree: free })]);
  });

  test("B03 a Jetson's tool that says almost nothing", () => {
    const stdout = "0, Orin (nvgpu), [N/A], [N/A], [N/A], [N/A], [N/A]\n";
    expect(gpusOf(stdout, { host: meminfo(64_349_696, 60_000_000) })).toEqual([
      expect.objectContaining({ uuid: "0", name: "Orin (nvgpu)", unified: true, memoryTotal: 65_894_088_704 }),
    ]);
  });

  test("without a word from the host either, it is 0 and no exception", () => {
    const reading = readGpus({ code: 0, stdout: "0, NVIDIA GB10, GPU-1, [N/A]\n", stderr: "" }, QUERY, undefined);
    expect(reading).toMatchObject({ kind: "read", gpus: [{ unified: true, memoryTotal: 0 }] });
  });
});

describe("sick cards", () => {
  test("B06 a card off the bus does not hide the healthy ones, and nothing is renumbered", () => {
    const stdout =
      "0, NVIDIA GeForce RTX 3090, GPU-..0, 24576\n2, NVIDIA GeForce RTX 3090, GPU-..2, 24576\n" +
      "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error\n";
    expect(
      gpusOf(stdout, { code: 255 }).map(({ uuid, index, problem }) => ({ uuid, index, lost: problem !== undefined })),
    ).toEqual([
      { uuid: "GPU-..0", index: 0, lost: false },
      { uuid: "GPU-..2", index: 2, lost: false },
      { uuid: "0000:0B:00.0", index: 1, lost: true },
    ]);
  });

  test("B06 the newer wording, and no healthy card at all", () => {
    const stdout =
      "Unable to determine the device handle for GPU0: 0000:01:00.0: Unknown Error\nNo devices were found\n";
    expect(gpusOf(stdout, { code: 6 })).toEqual([
      expect.objectContaining({
        uuid: "0000:01:00.0",
        index: 0,
        problem: expect.stringContaining("lost: Unable") as unknown,
      }),
    ]);
  });

  test("a warning about a card that answers does not make another one of it", () => {
    const row = "0, NVIDIA A100, GPU-a, 40960, 40000, 960, 550.144.03, 8.0, 00000000:0B:00.0, Disabled, 0, No\n";
    const warning = "WARNING: infoROM is corrupted at gpu 0000:0B:00.0\n";
    for (const stdout of [warning + row, row + warning]) {
      expect(gpusOf(stdout)).toEqual([expect.objectContaining({ uuid: "GPU-a", problem: undefined })]);
    }
  });

  test.each(["[GPU is lost]", "[Unknown Error]", "[GPU requires reset]", "ERR!"])("a cell that says %s", (cell) => {
    const [gpu] = gpusOf(`0, NVIDIA A100, GPU-a, ${cell}, ${cell}, ${cell}\n`);
    expect(gpu).toMatchObject({ unified: false, problem: expect.stringContaining("nvidia-smi says of it") as unknown });
  });
});

test("a name with commas in it shifts no column, and makes no other row look short", () => {
  const rest = "550.144.03, 9.0, 00000000:1B:00.0, Disabled, 0, No";
  const stdout = `0, NVIDIA RTX 6000, Max-Q, OEM, GPU-a, 49140, 49000, 140, ${rest}\n1, NVIDIA A2, GPU-b, 15356, 15000, 356, ${rest}\n`;
  expect(gpusOf(stdout)).toEqual([
    expect.objectContaining({ name: "NVIDIA RTX 6000, Max-Q, OEM", uuid: "GPU-a", memoryTotal: 49_140 * MIB }),
    expect.objectContaining({ name: "NVIDIA A2", uuid: "GPU-b", memoryTotal: 15_356 * MIB, problem: undefined }),
  ]);
});

test("B08 blank lines, CRLF, a header row and units", () => {
  const stdout = "\r\n\r\nindex, name, memory.total [MiB]\r\n0, NVIDIA RTX 3080 Ti, 12288 MiB\r\n\r\n";
  expect(gpusOf(stdout)).toEqual([
    expect.objectContaining({ index: 0, name: "NVIDIA RTX 3080 Ti", memoryTotal: 12_288 * MIB, unified: false }),
  ]);
});

describe("no answer is not a machine without GPUs", () => {
  test("B09 a driver that was upgraded under the running one", () => {
    const stdout = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.144\n";
    expect(read(stdout, { code: 18 })).toEqual({
      kind: "unreadable",
      reason:
        "driver: nvidia-smi: Failed to initialize NVML: Driver/library version mismatch; NVML library version: 550.144. Reload the driver or start the machine again",
    });
  });

  test("B10 no permission is called that", () => {
    const reading = read("Failed to initialize NVML: Insufficient Permissions\n", { code: 4 });
    expect(reading).toMatchObject({ kind: "unreadable", reason: expect.stringMatching(/^permission: /) as unknown });
  });

  test.each([
    {
      name: "the driver does not answer",
      code: 9,
      stdout: "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    },
    { name: "a bare status", code: 127, stdout: "" },
    { name: "binary rubbish", code: 0, stdout: "\u0000\u0001\u007fELF" },
  ])("$name", ({ code, stdout }) => {
    expect(read(stdout, { code }).kind).toBe("unreadable");
  });

  test("an old tool is asked again without the new column", () => {
    const stdout = 'Field "compute_cap" is not a valid field to query.\n';
    expect(read(stdout, { code: 2 }).kind).toBe("unknownColumn");
  });

  test.each(["No devices were found\n", ""])("a tool that finds none is believed: %j", (stdout) => {
    expect(gpusOf(stdout, { code: stdout === "" ? 0 : 6 })).toEqual([]);
  });
});

describe("cut short", () => {
  const row = "NVIDIA A100, GPU-x, 40960, 40000, 960, 550, 8.0, 0000:01:00.0, Disabled, 0, No";
  test.each([
    { name: "before its memory", stdout: "0, NVIDIA A" },
    { name: "within its memory", stdout: `0, ${row}\n1, NVIDIA A100, GPU-b, 409` },
    {
      name: "at the last column",
      stdout: `0, ${row}\n1, NVIDIA A100, GPU-b, 40960, 40000, 960, 550, 8.0, 0000:02:00.0, Disabled, 0`,
    },
  ])("a line that ends $name is a problem of its card", ({ stdout }) => {
    const gpus = gpusOf(stdout);
    expect(gpus.at(-1)?.problem).toContain("cut short");
    if (gpus.length > 1) expect(gpus[0]?.problem).toBeUndefined();
  });
});

test("B03 no control character travels on, whoever says it", () => {
  const said = JSON.stringify([
    read("0, Orin\u0000 (nvgpu)\u001b[31m, [N/A], [N/A], [N/A], [N/A]"),
    read("\u0000\u0001ELF\u0000", { code: 1 }),
    read("", { code: 1, stderr: "bad\u0000" }),
  ]);
  expect(said).not.toMatch(/\\u00[01]/);
});

test("never throws, and never invents memory", () => {
  const cell = fc.oneof(
    fc.string({ maxLength: 8 }),
    fc.constantFrom("0", "[N/A]", "GPU-a", "12 MiB", "1e9", "-5", "ERR!"),
  );
  const table = fc.array(
    fc.array(cell, { maxLength: 10 }).map((row) => row.join(", ")),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(table, (rows) => {
      const reading = read(rows.join("\n"));
      if (reading.kind !== "read") return;
      for (const gpu of reading.gpus) {
        expect(gpu.memoryTotal).toBeGreaterThanOrEqual(bytes(0));
        expect(Number.isSafeInteger(gpu.index)).toBe(true);
      }
    }),
  );
});

test("a container's limit is what there is of a larger host, and no limit changes nothing", () => {
  const host = { total: bytes(512), available: bytes(400) };
  expect(within(host, [])).toEqual(host);
  expect(within(host, [{ limit: 1024, used: 10 }])).toEqual(host);
  expect(within(host, [{ limit: 256, used: 56 }])).toEqual({ total: 256, available: 200 });
  expect(within(host, [{ limit: 256, used: 300 }])).toEqual({ total: 256, available: 0 });
  expect(
    within(host, [
      { limit: 256, used: 0 },
      { limit: 128, used: 8 },
    ]),
  ).toEqual({ total: 128, available: 120 });
});

test("meminfo without what is asked for is no memory", () => {
  expect(parseMeminfo("")).toBeUndefined();
  expect(parseMeminfo("MemTotal: many kB\n")).toBeUndefined();
  expect(parseMeminfo("MemTotal: 8 kB\nMemFree: 4 kB\n")).toEqual({ total: 8192, available: 4096 });
});
