import type { z } from "zod";

/** What a policy may know of a replica. */
export interface Candidate {
  readonly inFlight: number;
  /** Counts up with every pick that a router makes; 0: never picked. */
  readonly lastPicked: number;
}

export interface RoutingPolicy {
  /** Candidates are never empty: whoever asks has already answered "no replica". */
  pick<T extends Candidate>(candidates: readonly [T, ...T[]], random: () => number): T;
}

interface PolicyDefinition<S extends z.ZodType> {
  readonly doc: string;
  readonly params: S;
  create(params: z.output<S>): RoutingPolicy;
}

/** Keeps a policy's params schema and its constructor in step. `build` throws zod's error for params it does not know. */
export function definePolicy<S extends z.ZodType>(
  definition: PolicyDefinition<S>,
): {
  readonly doc: string;
  build(params: unknown): RoutingPolicy;
} {
  return { doc: definition.doc, build: (params) => definition.create(definition.params.parse(params)) };
}
