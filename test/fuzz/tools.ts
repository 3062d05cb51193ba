import { readTopology } from "../../src/agent/discovery/gpu-links.ts";
import { parseMeminfo } from "../../src/agent/discovery/meminfo.ts";
import { withSlices } from "../../src/agent/discovery/mig-list.ts";
import { QUERY, readGpus } from "../../src/agent/discovery/nvidia-smi.ts";
import { withRemappedRows } from "../../src/agent/discovery/remapped-rows.ts";
import { cardFaults } from "../../src/agent/discovery/xid.ts";
import { sumsOf } from "../../src/engines/prometheus.ts";
import type { Chance } from "./chance.ts";
import { mutatedBytes, mutatedText } from "./mutate.ts";
import { pureTarget } from "./target.ts";

const CARD = "GPU-5f3c1a2e-0000-1111-2222-333344445555";
const TABLE = [
  `0, NVIDIA L40S, ${CARD}, 46068, 45000, 1068, 570.133.20, 8.9, 00000000:17:00.0, Enabled, 0, No`,
  "1, NVIDIA GB10, GPU-11111111-0000-1111-2222-333344445555, [N/A], [N/A], [N/A], 580.1, 12.1, 0000000F:01:00.0, [N/A], [N/A], [N/A]",
  "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU",
].join("\n");
const MATRIX = [
  "\t\u001b[4mGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\u001b[0m",
  "GPU0\t X \tNV18\tPIX\t0-31\t0\t\tN/A",
  "GPU1\tNV18\t X \tSYS\t32-63\t1\t\tN/A",
  "NIC0\tPIX\tSYS\t X \t\t\t\t",
].join("\n");
const LIST = `GPU 0: NVIDIA A100 (UUID: ${CARD})\n  MIG 3g.20gb     Device  0: (UUID: MIG-00aa)\n`;
const ROWS = `${CARD}, 0, 1\n`;
const MEMINFO = "MemTotal:       65000000 kB\nMemAvailable:   60000000 kB\nHugetlb: 0 kB\n";
const KERNEL = "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.";
const METRICS = 'a{model="x",b="\\"}"} 1.5 1700000000\n# TYPE a counter\na NaN\nb +Inf\n';

const PIECES = [
  ",",
  ", ",
  "\t",
  "\n",
  "\r\n",
  "[N/A]",
  "[Unknown Error]",
  "GPU",
  "NV",
  "MiB",
  "-",
  "(",
  ")",
  "{",
  "}",
  '"',
  "  MIG ",
];

/** Programs of other makers, in any version, broken or ended in the middle of a line. */
export const toolTarget = pureTarget("tools' output", (chance: Chance) => {
  const changed = (text: string): string =>
    chance.is(0.8) ? mutatedText(chance, text, PIECES) : mutatedBytes(chance, Buffer.from(text)).toString("utf8");
  const read = readGpus(
    { code: chance.pick([0, 1, 9, null]), stdout: changed(TABLE), stderr: chance.is(0.2) ? changed(TABLE) : "" },
    QUERY,
    parseMeminfo(changed(MEMINFO)),
  );
  if (read.kind === "read") {
    for (const { uuid, memoryTotal } of read.gpus) {
      if (typeof uuid !== "string" || Number.isNaN(memoryTotal)) throw new Error(`a card of nonsense: ${uuid}`);
    }
    withRemappedRows(withSlices(read.gpus, read.cut, changed(LIST)), changed(ROWS));
  }
  for (const link of readTopology(changed(MATRIX))) {
    if (link.from === link.to || !Number.isSafeInteger(link.lanes)) throw new Error(JSON.stringify(link));
  }
  cardFaults(changed(KERNEL).split("\n"));
  sumsOf(changed(METRICS));
});
