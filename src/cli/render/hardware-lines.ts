import { formatBytes } from "../../core/format.ts";
import type { Fabric, FabricPort, Gpu } from "../../wire/gen/llmgw/v1/common_pb.js";

export function gpuLine(gpu: Gpu): string {
  const memory = gpu.unified ? `memory shared with the host, ${freeOf(gpu)}` : gpu.memoryTotal === 0 ? "" : freeOf(gpu);
  const parts = [
    String(gpu.index),
    gpu.name,
    memory,
    gpu.uuid,
    // Where it is says a name that is only its place already.
    gpu.uuid.toLowerCase() === gpu.pciBusId ? "" : gpu.pciBusId,
    numaWords(gpu),
    gpu.parent === "" ? "" : `slice of ${gpu.parent}`,
    gpu.problem === "" ? "" : `(${gpu.problem})`,
  ];
  return parts.filter((part) => part !== "").join("  ");
}

const freeOf = ({ memoryFree, memoryTotal }: Gpu): string =>
  `${formatBytes(memoryFree)} of ${formatBytes(memoryTotal)} free`;

const numaWords = ({ numaNode }: { readonly numaNode?: number | undefined }): string =>
  numaNode === undefined ? "" : `NUMA ${String(numaNode)}`;

/** The fabric with its verdict, then a line for each port that it has. */
export function fabricLines(fabric: Fabric): readonly string[] {
  const rate = fabric.rateGbps === 0 ? "" : `  ${String(fabric.rateGbps)} Gbit/s`;
  const verdict = fabric.problem === "" ? "as configured" : `not usable: ${fabric.problem}`;
  return [`${fabric.name}  ${fabric.hcas.join(",")}${rate}  ${verdict}`, ...fabric.ports.map(portLine)];
}

function portLine(port: FabricPort): string {
  const parts = [
    `  ${port.hca}:${String(port.port)}`,
    port.state === "" ? "?" : port.state,
    port.linkLayer,
    port.rateGbps === 0 ? "" : `${String(port.rateGbps)} Gbit/s`,
    port.pciBusId,
    numaWords(port),
    port.addresses.join(","),
  ];
  return parts.filter((part) => part !== "").join("  ");
}
