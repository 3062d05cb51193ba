import type { AdapterSpec } from "./adapter.ts";
import type { GangTask } from "./gang.ts";
import type { Bytes, GpuUuid, Millis, ProfileName, ReplicaId } from "./ids.ts";
import type { ModelSpec } from "./profile.ts";

/** One replica that a node is to run, with everything the node needs to know for it. */
export interface DesiredReplica {
  readonly id: ReplicaId;
  readonly profile: ProfileName;
  readonly specHash: string;
  readonly serves: readonly string[];
  /** "auto", a name of ours, or one that only a newer server knows: then the replica fails and says so. */
  readonly engine: string;
  readonly model: ModelSpec;
  readonly context: number | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly gpus: readonly GpuUuid[];
  readonly apiKey: string;
  readonly startTimeout: Millis;
  readonly generation: number;
  /** Of each GPU, what is the replica's. Left out: it is not known, or nobody else is on them. */
  readonly gpuMemory?: Bytes;
  /** How the model is cut over the GPUs of all ranks together. Left out: not at all. */
  readonly parallel?: { readonly tensor: number; readonly pipeline: number };
  /** Left out: the replica is on this node alone. */
  readonly gang?: GangTask;
  /** What the engine is started with beside the model, in this order. Left out: nothing. */
  readonly adapters?: readonly AdapterSpec[];
}

/** Where an engine is to come from. */
export interface EngineSource {
  readonly version: string;
  /** github | debian | pypi | the base URL of a mirror | a folder of wheels on the node */
  readonly source: string;
}

/** Everything that a node should run. What is not in it is to be stopped. */
export interface DesiredState {
  readonly revision: number;
  readonly replicas: readonly DesiredReplica[];
  readonly engines: Readonly<Record<string, EngineSource>>;
  readonly weightsConcurrency: number;
}
