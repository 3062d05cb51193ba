import type { Gpu } from "../../core/node.ts";

/** What is asked of `nvidia-smi --query-remapped-rows`; cards without such memory are not in its answer. */
export const REMAPPED_QUERY = "gpu_uuid,remapped_rows.pending,remapped_rows.failure";

/** The cards with what their memory waits for. Text that is no such table changes nothing. */
export function withRemappedRows(gpus: readonly Gpu[], table: string): readonly Gpu[] {
  const faults = new Map(table.split(/\r?\n/).flatMap(faultIn));
  return gpus.map((gpu) => ({ ...gpu, problem: gpu.problem ?? faults.get(gpu.uuid) }));
}

export const ROW_NOT_REPLACED = "a faulty row of its memory could not be replaced: the card itself has to be";
export const ROW_PENDING =
  "a row of its memory waits to be replaced. Reset it (nvidia-smi --gpu-reset) or start the machine again";

function faultIn(line: string): readonly (readonly [uuid: string, fault: string])[] {
  const [uuid = "", pending = "", failure = ""] = line.split(",").map((cell) => cell.trim());
  if (!uuid.startsWith("GPU-")) return [];
  if (isYes(failure)) return [[uuid, ROW_NOT_REPLACED]];
  return isYes(pending) ? [[uuid, ROW_PENDING]] : [];
}

const isYes = (cell: string): boolean => /^(yes|true|[1-9]\d*)$/i.test(cell);
