import { type Bytes, bytes } from "../core/ids.ts";
import type { Share } from "../core/replica-state.ts";
import type { Ask, GpuShare } from "./ask.ts";
import { chooseGpus } from "./gpu-choice.ts";
import { measuredOn } from "./measured.ts";
import { type GpuView, isIdle, type NodeView } from "./node-view.ts";

/** How many GPUs of a node the ask would get, and of which. */
interface GpuSplit extends GpuShare {
  readonly fitting: readonly GpuView[];
}

const ON_CPU: GpuSplit = { count: 0, memory: bytes(0), fitting: [] };

/** The ways to split the ask over GPUs of this node, the fewest first, with what was measured before in place of estimates. */
export function choicesOn(view: NodeView, ask: Ask): Ask["gpus"]["choices"] {
  const { choices } = ask.gpus;
  if (ask.isNamed.gpus || ask.isNamed.gpuMemory || ask.needs.measured === undefined) return choices;
  const [fewest, ...more] = choices;
  const on = ({ count, memory }: GpuShare): GpuShare => ({
    count,
    memory: measuredOn(view, ask, count)?.perGpu ?? memory,
  });
  return [on(fewest), ...more.map(on)];
}

/** Host memory beside so many GPUs of the node; 0: on its CPU. */
export function hostOn(view: NodeView, ask: Ask, gpus: number): Bytes {
  const asked = gpus === 0 ? ask.memory.onCpu : ask.memory.onGpu;
  return ask.isNamed.memory ? asked : (measuredOn(view, ask, gpus)?.host ?? asked);
}

/** The answer that was given last: every rule asks for the same one in turn, and thousands of nodes are asked. */
let last: { readonly view: NodeView; readonly ask: Ask; readonly split: GpuSplit | undefined } | undefined;

/** The split that the node can give; undefined: its GPUs are too few. */
export function splitOn(view: NodeView, ask: Ask): GpuSplit | undefined {
  if (last?.view !== view || last.ask !== ask) last = { view, ask, split: findSplit(view, ask) };
  return last.split;
}

function findSplit(view: NodeView, ask: Ask): GpuSplit | undefined {
  for (const { count, memory } of choicesOn(view, ask)) {
    const fitting = memory === "whole" ? view.idleGpus : view.gpus.filter((gpu) => isFitting(gpu, memory));
    if (fitting.length < count) continue;
    const split = { count, memory, fitting };
    // Where the GPUs' memory is the host's, what is over for the process may be too little, and the CPU would do.
    const ofHost = sharedByHost(split);
    if (ask.gpus.required || ofHost === 0 || ofHost + hostOn(view, ask, count) <= view.memoryFree) return split;
  }
  return ask.gpus.required ? undefined : ON_CPU;
}

/** What the GPUs take of the host's own memory. */
function sharedByHost({ count, memory, fitting }: GpuSplit): number {
  return memory === "whole" ? 0 : memory * Math.min(count, fitting.filter(({ gpu }) => gpu.unified).length);
}

/** The GPUs of the node that the ask would get, and what of each; undefined: too few. None: it would run on the CPU. */
export function gpusFor(
  view: NodeView,
  ask: Ask,
): { readonly gpus: readonly GpuView[]; readonly memory: GpuShare["memory"] } | undefined {
  const split = splitOn(view, ask);
  if (split === undefined) return undefined;
  const { count, memory, fitting } = split;
  return { gpus: chooseGpus(view, fitting, { count, profile: ask.profile }), memory };
}

export const isFitting = (view: GpuView, memory: GpuShare["memory"]): boolean =>
  memory === "whole" ? isIdle(view) : view.gpu.problem === undefined && view.free >= memory;

/** What would be booked on the node; undefined: its GPUs are too few. */
export function bookingFor(view: NodeView, ask: Ask): Share | undefined {
  const pick = gpusFor(view, ask);
  if (pick === undefined) return undefined;
  const memory = hostOn(view, ask, pick.gpus.length);
  return {
    node: view.node.id,
    gpus: pick.gpus.map(({ gpu }) => gpu.uuid),
    memory,
    gpuMemory: pick.memory === "whole" ? wholeOf(pick.gpus, memory) : pick.memory,
  };
}

/** The largest of the chosen ones, so that nothing is left of any when they are taken whole. */
function wholeOf(gpus: readonly GpuView[], host: Bytes): Bytes {
  // All that a unified GPU could give is the host's memory, of which the replica's own part is booked apart.
  const unifiedShare = (free: Bytes): number => Math.max(0, Math.floor((free - host) / gpus.length));
  return bytes(Math.max(0, ...gpus.map(({ gpu, free }) => (gpu.unified ? unifiedShare(free) : gpu.memoryTotal))));
}
