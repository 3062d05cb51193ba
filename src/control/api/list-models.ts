import { create } from "@bufbuild/protobuf";
import { REPLICA_TRAITS } from "../../core/replica-state.ts";
import { type ListModelsResponse, ListModelsResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { toText } from "../../wire/scalar.ts";
import type { ControlPlane } from "../control-plane.ts";

export function listModels({ loop }: ControlPlane): ListModelsResponse {
  const counting = loop.snapshot.replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].counts);
  return create(ListModelsResponseSchema, {
    models: loop.table.models.map(({ name, profile, replicas, waitingFor }) => ({
      name,
      profile,
      ready: replicas.length,
      replicas: counting.filter((replica) => replica.profile === profile).length,
      waitingFor: toText(waitingFor),
    })),
  });
}
