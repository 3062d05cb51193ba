import { create } from "@bufbuild/protobuf";
import { type ScaleRequest, type ScaleResponse, ScaleResponseSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { scaleProfile } from "../replica-change.ts";
import { refusalError } from "./refusal.ts";

export async function scale({ loop, clock }: ControlPlane, request: ScaleRequest): Promise<ScaleResponse> {
  const wanted = { count: request.replicas, now: clock.now() };
  const done = await loop.change((snapshot) => scaleProfile(snapshot, request.profile, wanted));
  if (!done.ok) throw refusalError(done.error);
  return create(ScaleResponseSchema, { before: done.value });
}
