import { fingerprint } from "./fingerprint.ts";
import type { Bytes, GpuUuid, Millis, NodeId } from "./ids.ts";
import type { Profile } from "./profile.ts";

/** What the processes of one replica hold of one node's memory. */
export interface MeasuredMemory {
  /** On the CPU the weights that it keeps mapped are in it; on GPUs they are not, for they can go at any time. */
  readonly host: Bytes;
  /** Of each of its GPUs. Empty: it has none, or the driver does not say whose memory it is. */
  readonly gpus: readonly GpuUse[];
}

export interface GpuUse {
  readonly uuid: GpuUuid;
  readonly bytes: Bytes;
}

/** What one replica was found to take on one of its nodes. */
export interface NodeMemory {
  readonly node: NodeId;
  readonly memory: MeasuredMemory;
}

/** What one model was found to take with one build of an engine, started in one way, on one kind of GPU. */
export interface Measurement {
  readonly source: string;
  /** Name and version, such as "llama.cpp b11669". */
  readonly engine: string;
  /** Of everything beside the model that changes what an engine takes, by `launchKey`. */
  readonly launch: string;
  /** The driver's name for it; "" on the CPU. */
  readonly gpuType: string;
  readonly gpus: number;
  /** The most that was seen, here and below. */
  readonly host: Bytes;
  /** Of the GPU that it took most of; 0 on the CPU. */
  readonly perGpu: Bytes;
  /** How much of that was more than what was booked for it there. */
  readonly beyond: Bytes;
  readonly at: Millis;
}

/** Two of the same key are of the same thing. */
export const measurementKey = ({
  source,
  engine,
  launch,
  gpuType,
  gpus,
}: Pick<Measurement, "source" | "engine" | "launch" | "gpuType" | "gpus">): string =>
  [source, engine, launch, gpuType, String(gpus)].join("\n");

/** The oldest first, and of one moment in the order of their keys. */
export const byAge = (a: Measurement, b: Measurement): number =>
  a.at - b.at || (measurementKey(a) < measurementKey(b) ? -1 : 1);

/** Names the way that a profile has its engine started, as far as it changes what the engine takes. */
export const launchKey = ({
  model: { files },
  context,
  parallel,
  adapters,
  args,
  env,
}: Pick<Profile, "model" | "parallel" | "adapters" | "args" | "env"> & {
  readonly context?: number | undefined;
}): string => fingerprint({ files, context, parallel, adapters, args, env });
