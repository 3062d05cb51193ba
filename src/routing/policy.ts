import type { z } from "zod";
import type { PromptKeys } from "./prompt.ts";

/** What a policy may know of a replica. */
export interface Candidate {
  readonly id: string;
  /** `hashText` of the id. */
  readonly idHash: number;
  readonly inFlight: number;
  /** Prompt tokens, estimated, of requests in flight that have had no answer yet. */
  readonly queuedTokens: number;
  /** Counts up with every pick that a router makes; 0: never picked. */
  readonly lastPicked: number;
}

/** The request that a replica is wanted for, and what helps to choose. */
export interface PickContext {
  readonly prompt: PromptKeys;
  /** Ids of replicas that worked on a prompt with this key, the latest first. */
  readonly holders: (key: number) => readonly string[];
  readonly random: () => number;
}

export interface RoutingPolicy {
  /** Whether `prompt` and `holders` are looked at: they cost something to make. */
  readonly readsPrompt: boolean;
  /** Candidates are never empty: whoever asks has already answered "no replica". */
  pick<T extends Candidate>(candidates: readonly [T, ...T[]], context: PickContext): T;
}

interface PolicyDefinition<S extends z.ZodObject> {
  readonly doc: string;
  readonly params: S;
  create(params: z.output<S>): RoutingPolicy;
}

/** Keeps a policy's params schema and its constructor in step. `build` throws zod's error for params it does not know. */
export function definePolicy<S extends z.ZodObject>(
  definition: PolicyDefinition<S>,
): {
  readonly doc: string;
  readonly params: S;
  build(params: unknown): RoutingPolicy;
} {
  const { doc, params } = definition;
  return { doc, params, build: (given) => definition.create(params.parse(given)) };
}

/** A policy is asked only where there is a choice. */
export const isNotEmpty = <T>(list: readonly T[]): list is readonly [T, ...T[]] => list.length > 0;
