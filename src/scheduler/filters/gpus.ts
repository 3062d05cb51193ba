import { formatBytes } from "../../core/format.ts";
import { bytes } from "../../core/ids.ts";
import type { Ask, GpuShare } from "../ask.ts";
import { choicesOn, isFitting, splitOn } from "../fit.ts";
import { emptiest } from "../gpu-choice.ts";
import type { GpuView, NodeView } from "../node-view.ts";
import type { Remedy } from "../remedy.ts";
import type { Filter } from "../rules.ts";

export const gpus: Filter = {
  name: "gpus",
  doc: "Enough healthy GPUs have enough memory that is neither booked nor in use by other programs.",
  check(view, ask) {
    if (splitOn(view, ask) !== undefined) return undefined;
    // Of several ways that with the fewest GPUs is told: the others need more of them.
    const [{ count, memory }, ...others] = choicesOn(view, ask);
    const each = memory === "whole" ? "to itself" : `with ${formatBytes(memory)} free`;
    const more = others.length === 0 ? "" : ", or more with less";
    const needs = `needs ${String(count)} ${count === 1 ? "GPU" : "GPUs"} ${each}${more}`;
    if (view.gpus.length === 0) return `${needs}, has none`;
    const short = view.gpus.filter((gpu) => !isFitting(gpu, memory));
    const has = `has ${String(view.gpus.length - short.length)} of ${String(view.gpus.length)}`;
    const reasons = short.map((gpu) => whyNot(gpu, memory));
    return reasons.length === 0 ? `${needs}, ${has}` : `${needs}, ${has}: ${reasons.join("; ")}`;
  },
  remedies: (view, ask) => [freeGpus(view, ask), ...lessMemory(view, ask)],
};

function whyNot({ gpu, booked, free }: GpuView, memory: GpuShare["memory"]): string {
  const name = `GPU ${String(gpu.index)} (${gpu.name})`;
  if (gpu.problem !== undefined) return `${name}: ${gpu.problem}`;
  if (memory === "whole" && booked > 0) return `${name} runs another replica`;
  const used = gpu.memoryTotal - gpu.memoryFree;
  const by = used > booked ? `${formatBytes(used)} in use` : `${formatBytes(booked)} booked`;
  return `${name} can give ${formatBytes(free)} of ${formatBytes(gpu.memoryTotal)}, ${by}`;
}

/** The GPUs that are nearest to being enough; where none could ever be, more of them. */
function freeGpus(view: NodeView, ask: Ask): Remedy {
  const [{ count, memory }] = choicesOn(view, ask);
  const fitting = view.gpus.filter((gpu) => isFitting(gpu, memory)).length;
  const candidates = view.gpus
    .filter((gpu) => !isFitting(gpu, memory) && couldGive(gpu, memory))
    .toSorted(emptiest)
    .slice(0, count - fitting)
    .map(({ gpu: { uuid, index, memoryTotal }, free }) => ({
      ...{ uuid, index },
      bytes: bytes((memory === "whole" ? memoryTotal : memory) - free),
    }));
  return { kind: "free-gpus", gpus: candidates, more: count - fitting - candidates.length, memory };
}

/** A unified GPU gives what the host has, which the rule for memory asks for. */
const couldGive = ({ gpu }: GpuView, memory: GpuShare["memory"]): boolean =>
  gpu.problem === undefined && !gpu.unified && (memory === "whole" || gpu.memoryTotal >= memory);

function lessMemory(view: NodeView, { gpus: { choices }, isNamed }: Ask): readonly Remedy[] {
  const [{ count }] = choices;
  // With less memory on each, a model that may be split would want more of them.
  if (!isNamed.gpuMemory || !isNamed.gpus) return [];
  const healthy = view.gpus.filter(({ gpu }) => gpu.problem === undefined).toSorted(emptiest);
  const least = healthy[count - 1]?.free ?? 0;
  return least > 0 ? [{ kind: "name-gpu-memory", bytes: bytes(least) }] : [];
}
