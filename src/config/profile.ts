import type { z } from "zod";
import { profileName } from "../core/ids.ts";
import type { Profile, ReplicaCount } from "../core/profile.ts";
import { spell } from "./in-force.ts";
import { profileSchema } from "./manifest-schema.ts";
import { type DeepReadonly } from "./problem.ts";

type Written = DeepReadonly<z.output<typeof profileSchema>>;

/** A checked document with every default filled in. */
export function normaliseProfile(written: Written): Profile {
  const { tensor, pipeline, gpus } = split(written);
  const { gpu_memory: gpuMemory, memory, nodes } = written.resources;
  return {
    name: profileName(written.name),
    serves: written.serves ?? [written.name],
    model: written.model,
    engine: written.engine,
    replicas: countOf(written.replicas),
    resources: {
      nodes,
      ...(gpus === undefined ? {} : { gpus }),
      ...(gpuMemory === undefined ? {} : { gpuMemory }),
      ...(memory === undefined ? {} : { memory }),
    },
    parallel: { tensor, pipeline },
    nodeSelector: written.node_selector,
    ...(written.context === undefined ? {} : { context: written.context }),
    adapters: written.adapters,
    args: written.args,
    env: written.env,
    startTimeout: written.start_timeout,
    rollout: written.rollout,
  };
}

function countOf(replicas: Written["replicas"]): ReplicaCount {
  if (typeof replicas === "number") return { kind: "fixed", count: replicas };
  const { min, max, target_in_flight: targetInFlight, idle } = replicas;
  return { kind: "range", min, max, targetInFlight, idle };
}

interface Split {
  readonly tensor: number;
  readonly pipeline: number;
  readonly gpus: number | undefined;
}

/** One side of tensor × pipeline = gpus × nodes follows from the other. Without either, the estimate decides later. */
export function split({ resources, parallel }: Pick<Written, "resources" | "parallel">): Split {
  const { gpus, nodes } = resources;
  const pipeline = parallel.pipeline ?? 1;
  if (gpus !== undefined) {
    const tensor = parallel.tensor ?? Math.max(1, Math.floor((gpus * nodes) / pipeline));
    return { tensor, pipeline, gpus };
  }
  const tensor = parallel.tensor ?? 1;
  const all = tensor * pipeline;
  // 1 × 1 is also what a replica on the CPU has, so it says nothing about GPUs.
  return { tensor, pipeline, gpus: all > 1 ? Math.ceil(all / nodes) : undefined };
}

/** The profile as a manifest in JSON, which is read back to the same profile. */
export function profileManifest(profile: Profile): string {
  const { resources, replicas } = profile;
  const written = {
    kind: "Profile",
    name: profile.name,
    serves: profile.serves,
    model: profile.model,
    engine: profile.engine,
    replicas: replicas.kind === "fixed" ? replicas.count : { ...replicas, target_in_flight: replicas.targetInFlight },
    resources: { ...resources, gpu_memory: resources.gpuMemory },
    parallel: profile.parallel,
    node_selector: profile.nodeSelector,
    context: profile.context,
    adapters: profile.adapters,
    args: profile.args,
    env: profile.env,
    start_timeout: profile.startTimeout,
    rollout: profile.rollout,
  };
  return JSON.stringify(spell(profileSchema, written), undefined, 2);
}
