import type { GpuLink, LinkKind } from "../../core/node.ts";

/** A link before the other end has a name: `to` is an index among the cards that were read. */
export interface IndexedLink extends Omit<GpuLink, "to"> {
  readonly from: number;
  readonly to: number;
}

const FEATURES: Readonly<Record<string, LinkKind>> = {
  PIX: "pix",
  PXB: "pxb",
  PHB: "phb",
  NODE: "node",
  // Tools older than NODE and SYS.
  SOC: "sys",
  SYS: "sys",
};

/** One cell of the matrix, such as NV18 or PIX. */
export function linkIn(cell: string): Omit<GpuLink, "to"> {
  const lanes = /^NV(\d{1,3})$/.exec(cell)?.[1];
  if (lanes !== undefined) return { kind: "nvlink", lanes: Number(lanes) };
  return { kind: FEATURES[cell] ?? "unknown", lanes: 0 };
}

/**
 * The matrix of `nvidia-smi topo -m`: cells stand between tabs, since a column's name may hold a space, and those after the
 * devices may be empty. Cells about network adapters are left out. Empty for text that is no such matrix.
 */
export function readTopology(text: string): readonly IndexedLink[] {
  const rows = text
    .replaceAll(/\u001b\[[0-9;]*[A-Za-z]/g, "")
    .split(/\r?\n/)
    .map(cells);
  const header = rows.findIndex((row) => row[0] === "" && row.some((cell) => gpuNumber(cell) !== undefined));
  const columns = rows[header];
  return columns === undefined ? [] : rows.slice(header + 1).flatMap((row) => rowOf(row, columns));
}

const cells = (line: string): readonly string[] => line.split("\t").map((cell) => cell.trim());

function rowOf(row: readonly string[], columns: readonly string[]): readonly IndexedLink[] {
  const from = gpuNumber(row[0]);
  if (from === undefined) return [];
  return columns.flatMap((column, at) => {
    const to = gpuNumber(column);
    if (to === undefined || to === from) return [];
    return [{ from, to, ...linkIn(row[at] ?? "") }];
  });
}

function gpuNumber(cell: string | undefined): number | undefined {
  const digits = /^GPU(\d{1,4})$/.exec(cell ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}
