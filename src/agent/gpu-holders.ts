import type { GpuUuid } from "../core/ids.ts";
import type { NvmlAnswer } from "../platform/nvml-answer.ts";
import { askDriver, type DriverOptions, rowsOf } from "./gpu-driver.ts";

type Held = (gpus: readonly GpuUuid[], pids: ReadonlySet<number>) => Promise<readonly number[]>;

/** Asks the driver which of the pids hold memory of one of the GPUs. Without an answer: none that is known. */
export function createGpuHolders(options: DriverOptions): Held {
  return (gpus, pids) =>
    askDriver(options, {
      columns: "gpu_uuid,pid",
      byLibrary: (answer) => pidsOn(answer, gpus)?.filter((pid) => pids.has(pid)),
      inTable: (table) => holdersIn(table, gpus, pids),
    });
}

/** Undefined: the library did not say so of one of the GPUs. */
function pidsOn({ cards }: NvmlAnswer & { kind: "read" }, gpus: readonly GpuUuid[]): readonly number[] | undefined {
  const devices = cards.flatMap((card) => [card, ...card.slices]);
  const lists = gpus.map((gpu) => devices.find(({ texts }) => texts["uuid"] === gpu)?.numbers["pids"]);
  return lists.includes(undefined) ? undefined : [...new Set(lists.flatMap((list) => list ?? []))];
}

/** In the tool's table; a slice of a card is listed under the card. */
export function holdersIn(table: string, gpus: readonly GpuUuid[], pids: ReadonlySet<number>): readonly number[] {
  const isMig = gpus.some((gpu) => gpu.startsWith("MIG-"));
  const held = rowsOf(table).flatMap(([uuid, pid]) =>
    (isMig || gpus.some((gpu) => gpu === uuid)) && pids.has(Number(pid)) ? [Number(pid)] : [],
  );
  return [...new Set(held)];
}
