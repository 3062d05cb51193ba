import { create } from "@bufbuild/protobuf";
import {
  type ListReplicasRequest,
  type ListReplicasResponse,
  ListReplicasResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { replicaToWire } from "../../wire/replica.ts";
import { brakeNotice } from "../attention.ts";
import type { ControlPlane } from "../control-plane.ts";
import { estimatesOf } from "../explain.ts";

export function listReplicas(
  { loop, routers }: ControlPlane,
  { profile, id }: ListReplicasRequest,
): ListReplicasResponse {
  const estimated = estimatesOf(loop.snapshot);
  return create(ListReplicasResponseSchema, {
    notice: brakeNotice(loop.liveness),
    replicas: loop.snapshot.replicas
      .filter((replica) => profile === "" || replica.profile === profile)
      .filter((replica) => id === "" || replica.id === id)
      .map((replica) => replicaToWire(replica, routers.inFlight(replica.id), estimated(replica))),
  });
}
