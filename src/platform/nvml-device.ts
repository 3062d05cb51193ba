import type { NvmlDevice } from "./nvml-answer.ts";
import type { NvmlCall } from "./nvml-library.ts";

/** One call: what it is asked beside the handle, and the widths of the numbers behind each pointer that it fills. */
interface Question {
  readonly name: string;
  readonly call: string;
  readonly args?: readonly number[];
  readonly out: readonly (readonly (4 | 8)[])[];
}

const MEMORY: Question = { name: "memory", call: "nvmlDeviceGetMemoryInfo", out: [[8, 8, 8]] };

/** All that is asked of a whole card. */
const QUESTIONS: readonly Question[] = [
  MEMORY,
  { name: "compute", call: "nvmlDeviceGetCudaComputeCapability", out: [[4], [4]] },
  { name: "mig", call: "nvmlDeviceGetMigMode", out: [[4], [4]] },
  // Uncorrected (1) since the driver was loaded (0).
  { name: "ecc", call: "nvmlDeviceGetTotalEccErrors", args: [1, 0], out: [[8]] },
  { name: "remapped", call: "nvmlDeviceGetRemappedRows", out: [[4], [4], [4], [4]] },
  { name: "retired", call: "nvmlDeviceGetRetiredPagesPendingStatus", out: [[4]] },
  { name: "memoryNode", call: "nvmlDeviceGetNumaNodeId", out: [[4]] },
];

const TEXTS = [
  { name: "uuid", call: "nvmlDeviceGetUUID" },
  { name: "name", call: "nvmlDeviceGetName" },
] as const;
const TEXT_LENGTH = 96;

/** Asks everything of a card; each question may fail without the others. */
export function askCard(nvml: NvmlCall, handle: bigint): NvmlDevice {
  const asked = new Asked();
  askTexts(nvml, handle, asked);
  for (const question of QUESTIONS) askNumbers(nvml, handle, { question, asked });
  askPlace(nvml, handle, asked);
  askFabric(nvml, handle, asked);
  askProcesses(nvml, handle, asked);
  return asked;
}

/** A slice has a name, an identity and memory of its own; the rest is its card's. */
export function askSlice(nvml: NvmlCall, handle: bigint): NvmlDevice {
  const asked = new Asked();
  askTexts(nvml, handle, asked);
  askNumbers(nvml, handle, { question: MEMORY, asked });
  askProcesses(nvml, handle, asked);
  return asked;
}

class Asked implements NvmlDevice {
  readonly texts: Record<string, string> = {};
  readonly numbers: Record<string, readonly number[]> = {};
  readonly failed: Record<string, number> = {};
}

function askTexts(nvml: NvmlCall, handle: bigint, asked: Asked): void {
  for (const { name, call } of TEXTS) {
    const text = Buffer.alloc(TEXT_LENGTH);
    const code = nvml(call, handle, text, TEXT_LENGTH);
    if (code === 0) asked.texts[name] = textIn(text);
    else asked.failed[name] = code;
  }
}

function askNumbers(
  nvml: NvmlCall,
  handle: bigint,
  { question, asked }: { readonly question: Question; readonly asked: Asked },
): void {
  const { name, call, args = [], out } = question;
  const buffers = out.map((widths) => Buffer.alloc(widths.reduce((sum: number, width) => sum + width, 0)));
  const code = nvml(call, handle, ...args, ...buffers);
  if (code !== 0) {
    asked.failed[name] = code;
    return;
  }
  asked.numbers[name] = out.flatMap((widths, at) => {
    const buffer = buffers[at] ?? Buffer.alloc(0);
    // A pointer's numbers are all of one width, so that no padding stands between them.
    return widths.map((width, n) =>
      width === 4 ? buffer.readUInt32LE(n * width) : Number(buffer.readBigUInt64LE(n * width)),
    );
  });
}

/** nvmlPciInfo_t: a legacy address of 16 characters, five unsigned ints, and the address of 32. */
const PCI_INFO = { size: 68, address: 36 };

export function emptyPciInfo(): Buffer {
  return Buffer.alloc(PCI_INFO.size);
}

export const addressIn = (info: Buffer): string => textIn(info.subarray(PCI_INFO.address));

function askPlace(nvml: NvmlCall, handle: bigint, asked: Asked): void {
  const info = emptyPciInfo();
  const code = nvml("nvmlDeviceGetPciInfo_v3", handle, info);
  if (code === 0) asked.texts["busId"] = addressIn(info);
  else asked.failed["busId"] = code;
}

/** nvmlGpuFabricInfo_v2_t: version, 16 bytes of cluster, status, clique, one byte of state, mask of health. */
const FABRIC_INFO = { size: 36, version: (2 << 24) | 36, status: 20, clique: 24, state: 28 };

function askFabric(nvml: NvmlCall, handle: bigint, asked: Asked): void {
  const info = Buffer.alloc(FABRIC_INFO.size);
  info.writeUInt32LE(FABRIC_INFO.version, 0);
  const code = nvml("nvmlDeviceGetGpuFabricInfoV", handle, info);
  if (code !== 0) {
    asked.failed["fabric"] = code;
    return;
  }
  const { status, clique, state } = FABRIC_INFO;
  asked.numbers["fabric"] = [info.readUInt8(state), info.readUInt32LE(status), info.readUInt32LE(clique)];
}

/** nvmlProcessInfo_t: a pid, its memory, and the instances of the card that it is on; padded to whole words. */
const PROCESS_INFO = { size: 24, used: 8, most: 1024 };
/** NVML_VALUE_NOT_AVAILABLE, in 64 bits. */
const NOT_AVAILABLE = 0xffff_ffff_ffff_ffffn;

/** The pids of those that hold memory of it, and in the same order how much; -1 where the driver does not say. */
function askProcesses(nvml: NvmlCall, handle: bigint, asked: Asked): void {
  const count = Buffer.alloc(4);
  count.writeUInt32LE(PROCESS_INFO.most);
  const infos = Buffer.alloc(PROCESS_INFO.size * PROCESS_INFO.most);
  const code = nvml("nvmlDeviceGetComputeRunningProcesses_v3", handle, count, infos);
  if (code !== 0) {
    asked.failed["pids"] = code;
    return;
  }
  const found = Math.min(count.readUInt32LE(), PROCESS_INFO.most);
  const at = Array.from({ length: found }, (_, n) => n * PROCESS_INFO.size);
  asked.numbers["pids"] = at.map((offset) => infos.readUInt32LE(offset));
  asked.numbers["pidBytes"] = at.map((offset) => usedIn(infos, offset + PROCESS_INFO.used));
}

function usedIn(infos: Buffer, offset: number): number {
  const used = infos.readBigUInt64LE(offset);
  return used === NOT_AVAILABLE ? -1 : Number(used);
}

export function textIn(buffer: Buffer): string {
  const end = buffer.indexOf(0);
  return buffer.toString("utf8", 0, end < 0 ? buffer.length : end).trim();
}
