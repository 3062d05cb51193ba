import { create } from "@bufbuild/protobuf";
import type { MemoryEstimate } from "../core/memory-estimate.ts";
import { withoutKey } from "../core/redact.ts";
import { type Replica, type ReplicaState, sharesOf } from "../core/replica-state.ts";
import {
  type Rejection,
  RejectionSchema,
  ReplicaSchema,
  type Replica as WireReplica,
} from "./gen/llmgw/v1/admin_pb.js";
import { type Endpoint, EndpointSchema, type Progress } from "./gen/llmgw/v1/common_pb.js";
import { endpointToWire } from "./endpoint.ts";
import { gangToWire } from "./gang.ts";
import { nodeMemoryToWire } from "./measured-memory.ts";
import { estimateToWire } from "./model-facts.ts";
import { progressToWire } from "./progress.ts";
import { replicaReason } from "./replica-reason.ts";
import { toText, toTimestamp, toUint32 } from "./scalar.ts";

/** What the replica was estimated to take, and where that is known from, in words. */
export interface Estimated {
  readonly estimate: MemoryEstimate;
  readonly origin: string;
}

/**
 * A replica as the admin API shows it. Its key is left out, also where the engine has printed it: only routers may know
 * it. `inFlight`: requests that it is working on.
 */
export function replicaToWire(replica: Replica, inFlight: number, estimated?: Estimated): WireReplica {
  const { state, placement } = replica;
  const shown = (text: string): string => toText(withoutKey(text, replica.apiKey));
  const gang = gangToWire(replica, shown);
  return create(ReplicaSchema, {
    id: replica.id,
    profile: replica.profile,
    state: state.kind,
    node: placement?.node ?? "",
    reason: shown(replicaReason(state, inFlight)),
    ...progressOf(state),
    ...endpointOf(state),
    lastLines: state.kind === "failed" ? state.lastLines.map(shown) : [],
    rejections: rejectionsOf(state),
    restarts: toUint32(replica.restarts),
    specHash: replica.specHash,
    since: toTimestamp(replica.since),
    createdAt: toTimestamp(replica.createdAt),
    gpuUuids: sharesOf(placement).flatMap(({ gpus }) => gpus),
    engine: state.kind === "ready" ? state.engine : "",
    pid: toUint32(replica.pid),
    inFlight: toUint32(inFlight),
    ...(gang === undefined ? {} : { gang }),
    measured: (replica.measured ?? []).map(nodeMemoryToWire),
    ...(estimated === undefined
      ? {}
      : { estimate: estimateToWire(estimated.estimate), estimateOrigin: toText(estimated.origin) }),
  });
}

function progressOf(state: ReplicaState): { progress?: Progress } {
  if (state.kind !== "preparing" || state.progress === undefined) return {};
  return { progress: progressToWire(state.progress) };
}

function endpointOf(state: ReplicaState): { endpoint?: Endpoint } {
  if ((state.kind !== "ready" && state.kind !== "draining") || state.endpoint === undefined) return {};
  return { endpoint: create(EndpointSchema, endpointToWire(state.endpoint)) };
}

function rejectionsOf(state: ReplicaState): Rejection[] {
  if (state.kind !== "pending") return [];
  return state.rejections.map((no) => create(RejectionSchema, { ...no, reason: toText(no.reason) }));
}
