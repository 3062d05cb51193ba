import { formatBytes } from "../../core/format.ts";
import { bytes } from "../../core/ids.ts";
import type { Ask } from "../ask.ts";
import { bookingFor, choicesOn, hostOn, splitOn } from "../fit.ts";
import { hostMemory, type NodeView } from "../node-view.ts";
import type { Remedy } from "../remedy.ts";
import type { Filter } from "../rules.ts";

/** A context below which a model is of little use. */
const LEAST_CONTEXT = 512;

export const memory: Filter = {
  name: "memory",
  doc: "Enough host memory is neither booked nor in use by other programs.",
  check(view, ask) {
    const need = needOf(view, ask);
    if (need <= view.memoryFree) return undefined;
    const { memoryTotal, memoryAvailable } = view.node.inventory;
    return (
      `insufficient memory: needs ${formatBytes(need)}, can give ${formatBytes(view.memoryFree)} of ` +
      `${formatBytes(memoryTotal)} (${formatBytes(memoryTotal - memoryAvailable)} in use, ${formatBytes(view.memoryBooked)} booked)` +
      gpusToo(view, ask)
    );
  },
  remedies(view, ask) {
    const need = needOf(view, ask);
    const lacking = need - view.memoryFree;
    return [
      { kind: "free-memory", bytes: bytes(lacking), beyond: need > view.node.inventory.memoryTotal },
      ...(ask.isNamed.memory ? lessMemory(ask, lacking) : lessContext(view, ask)),
    ];
  },
};

/** 0 when its GPUs are too few: that is another rule's no. */
function needOf(view: NodeView, ask: Ask): number {
  // Which GPUs they are matters only where their memory is the host's.
  if (!view.hasUnified) {
    const split = splitOn(view, ask);
    return split === undefined ? 0 : hostOn(view, ask, split.count);
  }
  const booking = bookingFor(view, ask);
  return booking === undefined ? 0 : hostMemory(booking, view.node.inventory.gpus);
}

/** A replica that may run on either stands here because no GPU would do. */
function gpusToo(view: NodeView, ask: Ask): string {
  if (ask.gpus.required || view.gpus.length === 0 || splitOn(view, ask)?.count !== 0) return "";
  const ways = choicesOn(view, ask)
    .filter(({ count }) => count <= view.gpus.length)
    .map(({ count, memory: each }) => `${String(count)} with ${each === "whole" ? "nobody else" : formatBytes(each)}`);
  const few = ways.length > 2 ? [...ways.slice(0, 1), ...ways.slice(-1)] : ways;
  return few.length === 0 ? "" : `, and of its GPUs there are not ${few.join(" or ")} free`;
}

const lessMemory = ({ memory: { onCpu } }: Ask, lacking: number): readonly Remedy[] =>
  onCpu > lacking ? [{ kind: "name-memory", bytes: bytes(onCpu - lacking) }] : [];

/** The largest context, in halves of what it is now, with which it would fit. */
function lessContext(view: NodeView, ask: Ask): readonly Remedy[] {
  const { context } = ask.needs.onCpu;
  if (context === undefined) return [];
  for (let tokens = largestPower(context); tokens >= LEAST_CONTEXT; tokens /= 2) {
    if (needOf(view, ask.withContext(tokens)) <= view.memoryFree) return [{ kind: "name-context", tokens }];
  }
  return [];
}

/** The largest power of two below. */
const largestPower = (n: number): number => 2 ** (Math.ceil(Math.log2(n)) - 1);
