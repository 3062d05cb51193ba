import type { Bytes } from "./ids.ts";
import type { Measurement } from "./measured-memory.ts";
import type { EngineName } from "./profile.ts";

/** What one replica takes on one node, part by part. The total is the sum of the parts. */
export interface MemoryEstimate {
  /** GPUs that it is split over; 0: it runs on the CPU. */
  readonly gpus: number;
  readonly weights: Bytes;
  readonly kvCache: Bytes;
  /** Compute buffers and what a process and each GPU cost before anything is loaded. */
  readonly overhead: Bytes;
  readonly total: Bytes;
  /** The largest share of one GPU; 0 on the CPU. */
  readonly perGpu: Bytes;
  /** Of the total, or beside it on GPUs: what the host gives. */
  readonly host: Bytes;
  /** Tokens that the cache has room for, of all requests together; undefined: not known. */
  readonly context: number | undefined;
}

/** How good an estimate is: from the model's header, from the size of its files alone, or a guess without either. */
type EstimateBasis = "header" | "size" | "default";

/** What a replica of a profile takes, wherever it may run. */
export interface ModelNeeds {
  /** Of the weights on disk; undefined: not known yet. */
  readonly weights: Bytes | undefined;
  readonly basis: EstimateBasis;
  /** Where the numbers come from, as a sentence without its full stop. */
  readonly origin: string;
  readonly onCpu: MemoryEstimate;
  /** Each number of GPUs that it can be split over, the fewest first. Never empty. */
  readonly onGpus: readonly [MemoryEstimate, ...MemoryEstimate[]];
  /** Of one token in the cache, at most; 0: not known. */
  readonly kvPerToken: Bytes;
  /** Those that load the model's format. Left out: it is not known. */
  readonly engines?: readonly EngineName[];
  /** Why no engine could run it as the profile cuts it, as a sentence without its full stop. Left out: one can, or nobody knows. */
  readonly blocked?: string;
  /** What would run it does not compute on the CPU. */
  readonly gpuOnly?: true;
  /** What would run it fills the part of a GPU that it is given, whatever it needs. */
  readonly takesItsShare?: true;
  /** Of the host: what fills only with use, so that a measurement need not hold it yet. Left out: nothing. */
  readonly grows?: Bytes;
  /** What it was found to take before, started in the same way. Left out: it never was measured. */
  readonly measured?: readonly Measurement[];
}
