import { create } from "@bufbuild/protobuf";
import {
  type RestartRequest,
  type RestartResponse,
  RestartResponseSchema,
} from "../../wire/gen/llmgw/v1/changing_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { restartReplicas } from "../replica-change.ts";
import { refusalError } from "./refusal.ts";

export async function restart({ loop }: ControlPlane, { name }: RestartRequest): Promise<RestartResponse> {
  const done = await loop.change((snapshot) => restartReplicas(snapshot, name));
  if (!done.ok) throw refusalError(done.error);
  return create(RestartResponseSchema, { profile: done.value.profile, replicas: [...done.value.replicas] });
}
