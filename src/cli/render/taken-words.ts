import { formatBytes } from "../../core/format.ts";
import type { NodeMemory } from "../../wire/gen/llmgw/v1/memory_pb.js";

/** What a replica was found to take on all its nodes, such as "12 GiB on 2 GPUs, 1.0 GiB of the host"; "" when it was not measured. */
export function takenWords(measured: readonly NodeMemory[]): string {
  if (measured.length === 0) return "";
  const gpus = measured.flatMap(({ memory }) => memory?.gpus ?? []);
  const host = formatBytes(measured.reduce((sum, { memory }) => sum + (memory?.host ?? 0), 0));
  if (gpus.length === 0) return host;
  const onGpus = formatBytes(gpus.reduce((sum, { bytes }) => sum + bytes, 0));
  const count = gpus.length === 1 ? "1 GPU" : `${String(gpus.length)} GPUs`;
  return `${onGpus} on ${count}, ${host} of the host`;
}
