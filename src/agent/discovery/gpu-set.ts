import { bytes, gpuUuid } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import type { Unreachable } from "./nvml-reading.ts";
import type { CardFault } from "./xid.ts";

/** An NVIDIA GPU as the PCI bus shows it, driver or not. */
export interface PciGpu {
  readonly pciBusId: string;
  readonly numaNode: number | undefined;
}

export interface GpuEvidence {
  readonly gpus: readonly Gpu[];
  readonly unreachable: readonly Unreachable[];
  /** The last ones known of this machine. */
  readonly known: readonly Gpu[];
  readonly pci: readonly PciGpu[];
  readonly faults: readonly CardFault[];
}

/** Every GPU that the machine should have: those that answered, with what others know of them, and those that did not. */
export function completeGpus({ gpus, unreachable, known, pci, faults }: GpuEvidence): readonly Gpu[] {
  const answered = gpus.map((gpu) => remembered(gpu, known));
  const lost = place(unreachable, { answered, known, pci });
  const vanished = known.filter((gpu) => isMissing(gpu, [...answered, ...lost])).map(asVanished);
  return [...answered, ...lost, ...vanished]
    .map((gpu) => withPlace(gpu, pci))
    .map((gpu) => withFault(gpu, faults))
    .toSorted((a, b) => a.index - b.index);
}

/** A lost card answers to its place on the bus alone. What is booked on it is booked by the name that it had before. */
function remembered(gpu: Gpu, known: readonly Gpu[]): Gpu {
  if (gpu.problem === undefined || gpu.pciBusId === "") return gpu;
  const before = known.find(({ pciBusId, parent }) => pciBusId === gpu.pciBusId && parent === undefined);
  const isNameless = before !== undefined && !gpu.uuid.startsWith("GPU-") && !gpu.uuid.startsWith("MIG-");
  return isNameless ? { ...before, problem: gpu.problem, memoryFree: bytes(0) } : gpu;
}

interface Places {
  readonly answered: readonly Gpu[];
  readonly known: readonly Gpu[];
  readonly pci: readonly PciGpu[];
}

/** Cards are counted in the order of their addresses, so the ones that are left over are theirs, in that order. */
function place(unreachable: readonly Unreachable[], { answered, known, pci }: Places): readonly Gpu[] {
  const taken = new Set(answered.map(({ pciBusId }) => pciBusId));
  const left = pci.filter(({ pciBusId }) => !taken.has(pciBusId));
  return unreachable.map(({ index, problem }, nth) => {
    const pciBusId = left[nth]?.pciBusId ?? "";
    const before = known.find((gpu) => gpu.parent === undefined && gpu.pciBusId === pciBusId && pciBusId !== "");
    if (before !== undefined) return { ...before, index, problem, memoryFree: bytes(0), links: [] };
    const where = pciBusId === "" ? `index ${String(index)}` : pciBusId;
    return {
      uuid: gpuUuid(pciBusId === "" ? `unreachable-${String(index)}` : pciBusId),
      index,
      name: `NVIDIA GPU at ${where}`,
      memoryTotal: bytes(0),
      memoryFree: bytes(0),
      unified: false,
      problem,
      driverVersion: "",
      computeCapability: "",
      pciBusId,
      numaNode: undefined,
      links: [],
      parent: undefined,
    };
  });
}

/** Slices come and go as people cut their cards; a whole card does not. */
function isMissing(gpu: Gpu, present: readonly Gpu[]): boolean {
  if (gpu.parent !== undefined || gpu.pciBusId === "") return false;
  return !present.some(
    ({ uuid, pciBusId, parent }) => uuid === gpu.uuid || parent === gpu.uuid || pciBusId === gpu.pciBusId,
  );
}

const VANISHED = "lost: its driver no longer lists it. Start the agent again if it was taken out";

const asVanished = (gpu: Gpu): Gpu => ({ ...gpu, problem: VANISHED, memoryFree: bytes(0), links: [] });

function withPlace(gpu: Gpu, pci: readonly PciGpu[]): Gpu {
  const numaNode = pci.find(({ pciBusId }) => pciBusId === gpu.pciBusId)?.numaNode;
  return numaNode === undefined ? gpu : { ...gpu, numaNode };
}

/** A card that says itself what is wrong with it knows best. */
function withFault(gpu: Gpu, faults: readonly CardFault[]): Gpu {
  if (gpu.problem !== undefined) return gpu;
  const fault = faults.find(({ pciBusId }) => pciBusId === gpu.pciBusId);
  // A card that answers is on the bus: it was reset since.
  if (fault === undefined || fault.sentence.includes("(Xid 79)")) return gpu;
  return { ...gpu, problem: fault.sentence };
}
