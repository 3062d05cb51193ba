import { create } from "@bufbuild/protobuf";
import type { DesiredReplica, DesiredState } from "../core/desired.ts";
import { bytes, gpuUuid, millis, profileName, replicaId } from "../core/ids.ts";
import {
  DesiredReplicaSchema,
  DesiredStateSchema,
  type DesiredReplica as WireDesiredReplica,
  type DesiredState as WireDesiredState,
} from "./gen/llmgw/v1/agent_pb.js";
import { taskFromWire, taskToWire } from "./gang.ts";
import { toUint32, zeroAsUnknown } from "./scalar.ts";

export function desiredToWire(desired: DesiredState): WireDesiredState {
  return create(DesiredStateSchema, {
    revision: toUint32(desired.revision),
    replicas: desired.replicas.map(replicaToWire),
    engines: Object.fromEntries(Object.entries(desired.engines).map(([name, source]) => [name, { ...source }])),
    weightsConcurrency: toUint32(desired.weightsConcurrency),
  });
}

/** Total: what a message leaves out is empty or 0; an engine that is not named is "auto". */
export function desiredFromWire(message: WireDesiredState): DesiredState {
  return {
    revision: message.revision,
    replicas: message.replicas.map(replicaFromWire),
    engines: Object.fromEntries(
      Object.entries(message.engines).map(([name, { version, source }]) => [name, { version, source }]),
    ),
    weightsConcurrency: message.weightsConcurrency,
  };
}

function replicaToWire(replica: DesiredReplica): WireDesiredReplica {
  return create(DesiredReplicaSchema, {
    id: replica.id,
    profile: replica.profile,
    specHash: replica.specHash,
    serves: [...replica.serves],
    engine: replica.engine,
    model: {
      source: replica.model.source,
      files: [...replica.model.files],
      sha256: { ...replica.model.sha256 },
    },
    context: toUint32(replica.context),
    args: [...replica.args],
    env: { ...replica.env },
    gpuUuids: [...replica.gpus],
    apiKey: replica.apiKey,
    startTimeoutMs: toUint32(replica.startTimeout),
    generation: toUint32(replica.generation),
    tensorParallel: toUint32(replica.parallel?.tensor),
    pipelineParallel: toUint32(replica.parallel?.pipeline),
    gpuMemory: replica.gpuMemory ?? 0,
    ...(replica.gang === undefined ? {} : { gang: taskToWire(replica.gang) }),
    adapters: (replica.adapters ?? []).map(({ name, source }) => ({ name, source })),
  });
}

function replicaFromWire(message: WireDesiredReplica): DesiredReplica {
  return {
    id: replicaId(message.id),
    profile: profileName(message.profile),
    specHash: message.specHash,
    serves: [...message.serves],
    engine: message.engine === "" ? "auto" : message.engine,
    model: {
      source: message.model?.source ?? "",
      files: [...(message.model?.files ?? [])],
      sha256: { ...message.model?.sha256 },
    },
    context: zeroAsUnknown(message.context, (n) => n),
    args: [...message.args],
    env: { ...message.env },
    gpus: message.gpuUuids.map(gpuUuid),
    apiKey: message.apiKey,
    startTimeout: millis(message.startTimeoutMs),
    generation: message.generation,
    ...parallelFromWire(message),
    ...(message.gpuMemory > 0 ? { gpuMemory: bytes(message.gpuMemory) } : {}),
    ...(message.gang === undefined ? {} : { gang: taskFromWire(message.gang) }),
    ...(message.adapters.length === 0
      ? {}
      : { adapters: message.adapters.map(({ name, source }) => ({ name, source })) }),
  };
}

function parallelFromWire(message: WireDesiredReplica): Pick<DesiredReplica, "parallel"> {
  const { tensorParallel: tensor, pipelineParallel: pipeline } = message;
  return tensor === 0 && pipeline === 0 ? {} : { parallel: { tensor, pipeline } };
}
