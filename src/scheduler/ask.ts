import type { EngineSource } from "../core/desired.ts";
import type { Bytes, ProfileName } from "../core/ids.ts";
import type { ModelNeeds } from "../core/memory-estimate.ts";
import { ENGINE_NAMES, type EngineName, type Profile } from "../core/profile.ts";

/** Which engines nodes can be given. */
export interface EngineOffer {
  /** Those that a node without them can install. */
  readonly installable: readonly string[];
  /** Those whose version the operator names, by name. */
  readonly engines: Readonly<Record<string, Pick<EngineSource, "version">>>;
  /** Those of which one replica can span nodes. */
  readonly spanning: readonly EngineName[];
}

/** What one replica needs of one node. */
export interface Ask {
  readonly profile: ProfileName;
  readonly gpus: GpuAsk;
  /** Host memory, when it runs on the CPU and when it runs on GPUs. */
  readonly memory: { readonly onCpu: Bytes; readonly onGpu: Bytes };
  /** The profile names the host memory, that of each GPU, or how many there are to be, itself. */
  readonly isNamed: { readonly memory: boolean; readonly gpuMemory: boolean; readonly gpus: boolean };
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** Any of them will do. */
  readonly engines: readonly EngineName[];
  readonly offer: EngineOffer;
  /** Nodes that the replica spans; all else is asked of each of them. */
  readonly nodes: number;
  readonly source: string;
  /** Of the weights on disk; undefined: not known yet. */
  readonly weights: Bytes | undefined;
  /** What the numbers above were made from. */
  readonly needs: ModelNeeds;
  /** The same with another context. */
  readonly withContext: (tokens: number) => Ask;
}

interface GpuAsk {
  /** Ways to split it over GPUs, the fewest first: any will do. */
  readonly choices: readonly [GpuShare, ...GpuShare[]];
  /** False: the CPU will do when there are no GPUs free. */
  readonly required: boolean;
}

export interface GpuShare {
  readonly count: number;
  /** Of each; "whole": nobody else on it. */
  readonly memory: Bytes | "whole";
}

/** What a profile's replicas need with a context of so many tokens; undefined: the model's own. */
export type NeedsAt = (context: number | undefined) => ModelNeeds;

/**
 * What a profile asks for, with the gaps filled in. What the profile names always counts; what it leaves out is estimated:
 * - host memory: the whole model on the CPU, the process alone on GPUs;
 * - GPUs: as few as the model fits on with what each can give, else the CPU;
 * - the memory of each: the estimate's share, but whole GPUs when they are asked for by number or nobody knows the model.
 */
export function askOf(profile: Profile, needsAt: NeedsAt, offer: EngineOffer): Ask {
  const needs = needsAt(profile.context);
  const { gpus, gpuMemory, memory, nodes } = profile.resources;
  const loading = needs.engines ?? ENGINE_NAMES;
  const possible = nodes > 1 ? loading.filter((name) => offer.spanning.includes(name)) : loading;
  return {
    profile: profile.name,
    gpus: { choices: choicesOf(profile, needs), required: gpus !== undefined || needs.gpuOnly === true },
    memory: { onCpu: memory ?? needs.onCpu.host, onGpu: memory ?? needs.onGpus[0].host },
    isNamed: { memory: memory !== undefined, gpuMemory: gpuMemory !== undefined, gpus: gpus !== undefined },
    nodeSelector: profile.nodeSelector,
    engines: profile.engine === "auto" ? possible : [profile.engine],
    offer,
    nodes,
    source: profile.model.source,
    weights: needs.weights,
    needs,
    withContext: (tokens) => askOf({ ...profile, context: tokens }, needsAt, offer),
  };
}

function choicesOf({ resources }: Profile, { basis, onGpus }: ModelNeeds): GpuAsk["choices"] {
  const { gpus, gpuMemory } = resources;
  if (gpus !== undefined) return [{ count: gpus, memory: gpuMemory ?? "whole" }];
  if (gpuMemory !== undefined) {
    const enough = onGpus.find(({ perGpu }) => perGpu <= gpuMemory);
    return [{ count: enough?.gpus ?? onGpus[0].gpus, memory: gpuMemory }];
  }
  if (basis === "default") return [{ count: onGpus[0].gpus, memory: "whole" }];
  const [fewest, ...more] = onGpus;
  return [
    { count: fewest.gpus, memory: fewest.perGpu },
    ...more.map(({ gpus: count, perGpu }) => ({ count, memory: perGpu })),
  ];
}
