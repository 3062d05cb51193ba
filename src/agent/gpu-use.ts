import { type Bytes, bytes, type GpuUuid } from "../core/ids.ts";
import type { GpuUse } from "../core/measured-memory.ts";
import type { NvmlAnswer } from "../platform/nvml-answer.ts";
import { askDriver, type DriverOptions, rowsOf } from "./gpu-driver.ts";

const MiB = 2 ** 20;

/** How much of each GPU the pids hold. Empty: of one of them the driver does not say. */
export type GpuUseOf = (gpus: readonly GpuUuid[], pids: ReadonlySet<number>) => Promise<readonly GpuUse[]>;

/** Asks the driver, whose word on a process is the only one that also holds where several share a GPU. */
export function createGpuUse(options: DriverOptions): GpuUseOf {
  return (gpus, pids) =>
    askDriver(options, {
      columns: "gpu_uuid,pid,used_memory",
      byLibrary: (answer) => useByLibrary(answer, gpus, pids),
      inTable: (table) => useInTable(table, gpus, pids),
    });
}

function useByLibrary(
  { cards }: NvmlAnswer & { kind: "read" },
  gpus: readonly GpuUuid[],
  pids: ReadonlySet<number>,
): readonly GpuUse[] {
  const devices = cards.flatMap((card) => [card, ...card.slices]);
  const holdings = devices.flatMap(({ texts, numbers }) => {
    const sizes = numbers["pidBytes"] ?? [];
    return (numbers["pids"] ?? []).map((pid, at) => ({ gpu: texts["uuid"] ?? "", pid, held: sizes[at] ?? -1 }));
  });
  return useOf(holdings, gpus, pids);
}

/** In the tool's table, in MiB. A slice of a card is listed under the card, together with the others, so nothing follows for it. */
export function useInTable(table: string, gpus: readonly GpuUuid[], pids: ReadonlySet<number>): readonly GpuUse[] {
  const holdings = rowsOf(table).flatMap(([gpu = "", pid = "", used = ""]) => {
    const held = /^\d+$/.test(used) ? Number(used) * MiB : -1;
    return /^\d+$/.test(pid) ? [{ gpu, pid: Number(pid), held }] : [];
  });
  return useOf(holdings, gpus, pids);
}

interface Holding {
  readonly gpu: string;
  readonly pid: number;
  /** In bytes; -1 unknown. */
  readonly held: number;
}

/** A sum with an unknown part is unknown, and so is what none of the processes is known to hold: it cannot run on nothing. */
function useOf(holdings: readonly Holding[], gpus: readonly GpuUuid[], pids: ReadonlySet<number>): readonly GpuUse[] {
  const found = gpus.flatMap((uuid) => {
    const own = holdings.filter(({ gpu, pid }) => gpu === uuid && pids.has(pid));
    const isKnown = own.length > 0 && own.every(({ held }) => held > 0);
    return isKnown ? [{ uuid, bytes: sumOf(own) }] : [];
  });
  return found.length === gpus.length ? found : [];
}

const sumOf = (holdings: readonly Holding[]): Bytes => bytes(holdings.reduce((sum, { held }) => sum + held, 0));
