import { formatBytes } from "../../core/format.ts";
import type { GpuAsk } from "../ask.ts";
import { gpusFor, isFitting } from "../fit.ts";
import type { GpuView } from "../node-view.ts";
import type { Filter } from "../rules.ts";

export const gpus: Filter = {
  name: "gpus",
  doc: "Enough healthy GPUs have enough memory that is neither booked nor in use by other programs.",
  check(view, ask) {
    if (gpusFor(view, ask) !== undefined) return undefined;
    const { count, memory } = ask.gpus;
    const each = memory === "whole" ? "to itself" : `with ${formatBytes(memory)} free`;
    const needs = `needs ${String(count)} ${count === 1 ? "GPU" : "GPUs"} ${each}`;
    if (view.gpus.length === 0) return `${needs}, has none`;
    const short = view.gpus.filter((gpu) => !isFitting(gpu, ask.gpus));
    const has = `has ${String(view.gpus.length - short.length)} of ${String(view.gpus.length)}`;
    const reasons = short.map((gpu) => whyNot(gpu, ask.gpus));
    return reasons.length === 0 ? `${needs}, ${has}` : `${needs}, ${has}: ${reasons.join("; ")}`;
  },
};

function whyNot({ gpu, booked, free }: GpuView, { memory }: GpuAsk): string {
  const name = `GPU ${String(gpu.index)} (${gpu.name})`;
  if (gpu.problem !== undefined) return `${name}: ${gpu.problem}`;
  if (memory === "whole" && booked > 0) return `${name} runs another replica`;
  const used = gpu.memoryTotal - gpu.memoryFree;
  const by = used > booked ? `${formatBytes(used)} in use` : `${formatBytes(booked)} booked`;
  return `${name} can give ${formatBytes(free)} of ${formatBytes(gpu.memoryTotal)}, ${by}`;
}
