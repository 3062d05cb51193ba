import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createDriverReader } from "../src/agent/discovery/driver-evidence.ts";
import { createFabricReader } from "../src/agent/discovery/fabrics.ts";
import { readTopology } from "../src/agent/discovery/gpu-links.ts";
import { completeGpus } from "../src/agent/discovery/gpu-set.ts";
import { QUERY, readGpus } from "../src/agent/discovery/nvidia-smi.ts";
import { readNvmlGpus } from "../src/agent/discovery/nvml-reading.ts";
import { millis } from "../src/core/ids.ts";
import { systemClock } from "../src/platform/clock.ts";
import { parseNvmlAnswer } from "../src/platform/nvml-answer.ts";
import { readNvml } from "../src/platform/nvml.ts";
import { cardAnswers, compileNvml, machineAnswers } from "../test/fakes/nvml-library.ts";
import { makeAdapter, makeTree } from "../test/fakes/sysfs-tree.ts";

/**
 * How long a look at a machine with 8 GPUs behind NVSwitch and 16 InfiniBand ports takes, the tools' own time left out:
 *   sh scripts/on-node.sh bench/discovery.ts [--json]
 * The machine is a tree of files shaped as the kernel's, with 200 PCI devices. Target: under 200 ms in all.
 */
const GPUS = 8;
const PORTS = 16;
const PCI_DEVICES = 200;
const ROUNDS = 20;
const TARGET_MS = 200;

const { values } = parseArgs({ options: { json: { type: "boolean", default: false } } });

interface Row {
  readonly what: string;
  readonly medianMs: number;
  readonly worstMs: number;
}

async function measure(what: string, work: () => unknown): Promise<Row> {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  const sorted = times.toSorted((a, b) => a - b);
  return { what, medianMs: sorted[Math.floor(sorted.length / 2)] ?? 0, worstMs: sorted.at(-1) ?? 0 };
}

const machine = await mkdtemp(join(tmpdir(), "llmgw-bench-"));
const hcas = Array.from({ length: PORTS }, (_, n) => `mlx5_${String(n)}`);
for (const [n, hca] of hcas.entries()) {
  await makeAdapter(machine, hca, { pci: `0000:${(0x40 + n).toString(16)}:00.0` });
}
const busOf = (n: number): string => `0000:${(0x1b + n).toString(16)}:00.0`;
const devices = Object.fromEntries(
  Array.from({ length: PCI_DEVICES }, (_, n) =>
    n < GPUS
      ? [busOf(n), { vendor: "0x10de\n", class: "0x030200\n", numa_node: "0\n" }]
      : [`0001:${n.toString(16).padStart(2, "0")}:00.0`, { vendor: "0x8086\n", class: "0x088000\n", numa_node: "0\n" }],
  ),
);
await makeTree(machine, {
  proc: { driver: { nvidia: { version: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Mon\n" } } },
  dev: { nvidiactl: "" },
  sys: { bus: { pci: { devices } } },
});

const links = Array.from({ length: 18 }, () => ({ kind: 2, remote: "00000000:CA:00.0" }));
const answer = JSON.stringify({
  kind: "read",
  library: "libnvidia-ml.so.1",
  driver: "570.86.15",
  cards: Array.from({ length: GPUS }, (_, index) => ({
    index,
    code: 0,
    texts: { uuid: `GPU-${String(index)}`, name: "NVIDIA H100 80GB HBM3", busId: `0000${busOf(index)}` },
    numbers: { memory: [85_520_809_984, 85_000_000_000, 520_809_984], compute: [9, 0], ecc: [0], fabric: [3, 0, 0] },
    failed: { mig: 3, retired: 3, memoryNode: 3 },
    nvlinks: links,
    slices: [],
  })),
  pairs: Array.from({ length: GPUS }, (_, a) =>
    Array.from({ length: GPUS - a - 1 }, (__, n) => ({ a, b: a + n + 1, ancestor: 50, p2p: 0 })),
  ).flat(),
});
const numbers = Array.from({ length: GPUS }, (_, n) => n);
const table = numbers
  .map(
    (n) =>
      `${String(n)}, NVIDIA H100 80GB HBM3, GPU-${String(n)}, 81559, 81000, 559, 570.86.15, 9.0, 0000${busOf(n)}, Disabled, 0, No`,
  )
  .join("\n");
const matrix = [
  ["", ...numbers.map((n) => `GPU${String(n)}`)],
  ...numbers.map((n) => [`GPU${String(n)}`, ...numbers.map((m) => (n === m ? " X " : "NV18"))]),
]
  .map((row) => row.join("\t"))
  .join("\n");

const driver = createDriverReader(machine);
const readFabrics = createFabricReader({
  root: join(machine, "class", "infiniband"),
  fabrics: [{ name: "ib-a", hcas, rateGbps: 400 }],
  clock: systemClock,
});

const first = await measure("driver and PCI bus, the first time", () => createDriverReader(machine).read());
const rows = [
  await measure("driver and PCI bus, again", () => driver.read()),
  await measure(`fabrics: ${String(PORTS)} ports`, readFabrics),
  await measure(`NVML's answer: ${String(GPUS)} GPUs with links`, () => {
    const read = parseNvmlAnswer(answer);
    if (read?.kind !== "read") throw new Error("the answer is not understood");
    const { gpus, unreachable } = readNvmlGpus(read, undefined);
    return completeGpus({ gpus, unreachable, known: gpus, pci: [], faults: [] });
  }),
  await measure(`nvidia-smi's table and matrix: ${String(GPUS)} GPUs`, () => {
    readGpus({ code: 0, stdout: table, stderr: "" }, QUERY, undefined);
    readTopology(matrix);
  }),
];

/** The tool's own time, for comparison: a process that loads a library which answers at once. */
async function asking(): Promise<readonly Row[]> {
  const standIn = await compileNvml();
  if (standIn === undefined) return [];
  const library = await standIn.library(
    machineAnswers(
      GPUS,
      numbers.map((n) => cardAnswers(n)),
    ),
  );
  const row = await measure("not counted: the process that asks NVML", () =>
    readNvml({ libraries: [library], env: process.env, deadline: millis(15_000) }),
  );
  await standIn.remove();
  return [row];
}

const all = [first, ...rows, ...(await asking())];
await rm(machine, { recursive: true });
const total = [first, ...rows.slice(1)].reduce((sum, { medianMs }) => sum + medianMs, 0);

if (values.json) {
  console.log(JSON.stringify({ rows: all, totalMs: total, targetMs: TARGET_MS, rounds: ROUNDS }));
} else {
  console.log(`A look at ${String(GPUS)} GPUs and ${String(PORTS)} ports, ms of ${String(ROUNDS)} rounds\n`);
  console.log(`${"".padEnd(46)}${"median".padStart(9)}${"worst".padStart(9)}`);
  for (const { what, medianMs, worstMs } of all) {
    console.log(`${what.padEnd(46)}${medianMs.toFixed(2).padStart(9)}${worstMs.toFixed(2).padStart(9)}`);
  }
  console.log(`${"a first look in all (target under 200)".padEnd(46)}${total.toFixed(2).padStart(9)}`);
}
process.exitCode = total < TARGET_MS ? 0 : 1;
