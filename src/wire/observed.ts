import { create } from "@bufbuild/protobuf";
import { profileName, replicaId } from "../core/ids.ts";
import type { ObservedReplica, ObservedReplicaState, ObservedState } from "../core/observed.ts";
import { assertNever } from "../core/result.ts";
import {
  FailedSchema,
  ObservedReplicaSchema,
  ObservedStateSchema,
  PreparingSchema,
  type Ready,
  ReadySchema,
  StartingSchema,
  StoppedSchema,
  StoppingSchema,
  type ObservedReplica as WireObservedReplica,
  type ObservedState as WireObservedState,
} from "./gen/llmgw/v1/agent_pb.js";
import { endpointFromWire, endpointToWire } from "./endpoint.ts";
import { reportFromWire, reportToWire } from "./gang.ts";
import { memoryFromWire, memoryToWire } from "./measured-memory.ts";
import { progressFromWire, progressToWire } from "./progress.ts";
import { toText, toUint32, zeroAsUnknown } from "./scalar.ts";

export function observedToWire(observed: ObservedState): WireObservedState {
  return create(ObservedStateSchema, {
    revision: toUint32(observed.revision),
    replicas: observed.replicas.map(replicaToWire),
  });
}

/** Total: what a message leaves out is empty or 0, and a state that is not understood is the most careful of ours. */
export function observedFromWire(message: WireObservedState): ObservedState {
  return { revision: message.revision, replicas: message.replicas.map(replicaFromWire) };
}

function replicaToWire(replica: ObservedReplica): WireObservedReplica {
  return create(ObservedReplicaSchema, {
    id: replica.id,
    profile: replica.profile,
    specHash: replica.specHash,
    state: stateToWire(replica.state),
    restarts: toUint32(replica.restarts),
    pid: toUint32(replica.pid),
    ...(replica.rank === undefined ? {} : { rank: reportToWire(replica.rank) }),
    ...(replica.memory === undefined ? {} : { memory: memoryToWire(replica.memory) }),
  });
}

function replicaFromWire(message: WireObservedReplica): ObservedReplica {
  return {
    id: replicaId(message.id),
    profile: profileName(message.profile),
    specHash: message.specHash,
    state: stateFromWire(message.state),
    restarts: message.restarts,
    pid: zeroAsUnknown(message.pid, (n) => n),
    ...(message.rank === undefined ? {} : { rank: reportFromWire(message.rank) }),
    ...(message.memory === undefined ? {} : { memory: memoryFromWire(message.memory) }),
  };
}

function stateToWire(state: ObservedReplicaState): WireObservedReplica["state"] {
  switch (state.kind) {
    case "preparing": {
      const progress = state.progress === undefined ? {} : { progress: progressToWire(state.progress) };
      return { case: "preparing", value: create(PreparingSchema, progress) };
    }
    case "starting":
      return { case: "starting", value: create(StartingSchema, { note: toText(state.note) }) };
    case "ready":
      return { case: "ready", value: readyToWire(state) };
    case "stopping":
      return { case: "stopping", value: create(StoppingSchema, { note: toText(state.note ?? "") }) };
    case "stopped":
      return { case: "stopped", value: create(StoppedSchema) };
    case "failed": {
      const lastLines = state.lastLines.map(toText);
      return { case: "failed", value: create(FailedSchema, { reason: toText(state.reason), lastLines }) };
    }
    default:
      return assertNever(state);
  }
}

function stateFromWire(state: WireObservedReplica["state"]): ObservedReplicaState {
  switch (state.case) {
    case "preparing": {
      const { progress } = state.value;
      return { kind: "preparing", progress: progress === undefined ? undefined : progressFromWire(progress) };
    }
    case "starting":
      return { kind: "starting", note: state.value.note };
    case "ready":
      return readyFromWire(state.value);
    case "stopping":
      return { kind: "stopping", ...(state.value.note === "" ? {} : { note: state.value.note }) };
    case "stopped":
      return { kind: "stopped" };
    case "failed":
      return { kind: "failed", reason: state.value.reason, lastLines: [...state.value.lastLines] };
    case undefined:
      // A state of a newer agent. The replica exists and keeps what it holds, but nothing is sent to it, and nothing of
      // it is started elsewhere.
      return { kind: "starting", note: "its node reports a state that this server does not know; upgrade the server" };
    default:
      return assertNever(state);
  }
}

function readyToWire(state: Extract<ObservedReplicaState, { kind: "ready" }>): Ready {
  return create(ReadySchema, {
    endpoint: endpointToWire(state.endpoint),
    slots: toUint32(state.slots),
    context: toUint32(state.context),
    engine: state.engine,
  });
}

/** Ready without an address is not ready: a router could not reach it. */
function readyFromWire({ endpoint, slots, context, engine }: Ready): ObservedReplicaState {
  if (endpoint === undefined || endpoint.host === "" || endpoint.port === 0) {
    return { kind: "starting", note: "its node calls it ready, but does not say where it answers" };
  }
  return { kind: "ready", endpoint: endpointFromWire(endpoint), slots, context, engine };
}
