import type { Gpu } from "../../wire/gen/llmgw/v1/common_pb.js";

/**
 * How each GPU reaches each other one, as rows of short words under the GPUs' numbers: NV18 for 18 NVLinks, PIX to SYS for
 * the farther and farther ways over PCIe, ? for what nobody knows. Empty for fewer than two whole GPUs, and where no link is known.
 */
export function linkMatrix(gpus: readonly Gpu[]): readonly string[] {
  const whole = gpus.filter(({ parent }) => parent === "");
  if (whole.length < 2 || whole.every(({ links }) => links.length === 0)) return [];
  const numbers = whole.map(({ index }) => String(index));
  const rows = whole.map((from) => whole.map((to) => (from === to ? "-" : linkWord(from, to))));
  const width = Math.max(...[...numbers, ...rows.flat()].map((word) => word.length));
  const line = (first: string, cells: readonly string[]): string =>
    [first, ...cells].map((cell) => cell.padStart(width)).join("  ");
  return [line("", numbers), ...rows.map((cells, at) => line(numbers[at] ?? "", cells))];
}

function linkWord(from: Gpu, to: Gpu): string {
  const link = from.links.find((candidate) => candidate.to === to.uuid);
  if (link === undefined || link.kind === "unknown" || link.kind === "") return "?";
  if (link.kind === "nvlink") return link.lanes === 0 ? "NV" : `NV${String(link.lanes)}`;
  return link.kind.toUpperCase();
}
