import { type Bytes, bytes } from "../../core/ids.ts";
import type { MemoryEstimate, ModelNeeds } from "../../core/memory-estimate.ts";
import type { ModelFacts } from "../../core/model-facts.ts";
import type { Profile } from "../../core/profile.ts";
import { estimate, estimateByDefault, estimateBySize } from "./estimate.ts";
import { kvBytesPerToken } from "./kv-cache.ts";
import type { MemoryRules } from "./memory-rules.ts";

const GiB = 2 ** 30;

/** Booked when nothing is known of the weights. Wrong either way, but no two replicas of it are stacked without end. */
const UNKNOWN = bytes(1 * GiB);
/** The largest nodes have so many; a model that needs more is split over nodes. */
const MOST_GPUS = 8;
/** What heads are usually divisible by. */
const TENSOR_SPLITS = [2, 4, 8] as const;

/** What is known of a profile's model, and who says so. */
export interface KnownModel {
  readonly facts: ModelFacts | undefined;
  /** Of the files on disk; undefined: not known. */
  readonly weights: Bytes | undefined;
  /** Where it is known from, such as "read from the files on node a1". */
  readonly origin: string;
}

/** What a replica of the profile takes, on the CPU and on each number of GPUs that it can be split over. */
export function modelNeeds(profile: Profile, model: KnownModel, rules: MemoryRules): ModelNeeds {
  const { gpuOnly, takesItsShare, grows } = rules;
  return {
    ...sizedNeeds(profile, model, rules),
    ...(gpuOnly === undefined ? {} : { gpuOnly }),
    ...(takesItsShare === undefined ? {} : { takesItsShare }),
    ...(grows === undefined ? {} : { grows }),
  };
}

function sizedNeeds(profile: Profile, model: KnownModel, rules: MemoryRules): ModelNeeds {
  const { facts, weights, origin } = model;
  const counts = gpuCounts(profile, facts, rules);
  if (weights === undefined) {
    const on = spreads(counts, (gpus) => estimateByDefault(gpus, UNKNOWN));
    const how = `${origin}: 1 GiB is taken until a node has it`;
    return { ...on, weights, basis: "default", origin: how, kvPerToken: bytes(0) };
  }
  const bySize = (gpus: number): MemoryEstimate => estimateBySize(weights, gpus, rules.host);
  const { pipeline } = profile.parallel;
  const exactly = (gpus: number): MemoryEstimate | undefined =>
    facts === undefined ? undefined : estimate({ weights, facts }, rules, { gpus, pipeline });
  if (facts === undefined || exactly(0) === undefined) {
    const how = `${origin}, the size of the files only: the weights, a fifth of them for the cache, and 512 MiB`;
    return { ...spreads(counts, bySize), weights, basis: "size", origin: how, kvPerToken: bytes(0) };
  }
  const on = spreads(counts, (gpus) => exactly(gpus) ?? bySize(gpus));
  return { ...on, weights, basis: "header", origin, kvPerToken: bytes(Math.ceil(kvBytesPerToken(facts, rules) ?? 0)) };
}

const spreads = (
  [fewest, ...more]: GpuCounts,
  on: (gpus: number) => MemoryEstimate,
): Pick<ModelNeeds, "onCpu" | "onGpus"> => ({ onCpu: on(0), onGpus: [on(fewest), ...more.map(on)] });

type GpuCounts = readonly [number, ...number[]];

/** A number that the profile names is the only one. */
function gpuCounts({ resources, parallel }: Profile, facts: ModelFacts | undefined, { split }: MemoryRules): GpuCounts {
  if (resources.gpus !== undefined && resources.gpus > 0) return [resources.gpus * resources.nodes];
  const asked = parallel.tensor * parallel.pipeline;
  if (asked > 1) return [asked];
  if (split === "tensor") {
    return [1, ...TENSOR_SPLITS.filter((count) => facts?.heads !== undefined && facts.heads % count === 0)];
  }
  const layers = Math.min(MOST_GPUS, facts?.layers ?? 1);
  return [1, ...Array.from({ length: Math.max(0, layers - 1) }, (_, more) => more + 2)];
}
