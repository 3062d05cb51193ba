import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ApplyRequest, type ApplyResponse, ApplyResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { applyObjects } from "../apply-objects.ts";
import { lookAtUnknown } from "../informed-apply.ts";
import { objectsOf } from "./manifests.ts";

/** The whole manifest or nothing, with every reason. */
export async function apply(plane: ControlPlane, { manifest, fileName, files }: ApplyRequest): Promise<ApplyResponse> {
  const wanted = objectsOf(manifest === "" && files.length > 0 ? files : [{ manifest, fileName }, ...files]);
  const { loop, clock } = plane;
  const looked = await lookAtUnknown(plane, wanted.profiles);
  const unreadable = await plane.upstreamSecrets.look(wanted.upstreams);
  if (unreadable.length > 0) throw new ConnectError(unreadable.join("\n"), Code.InvalidArgument);
  const applied = await loop.change((snapshot) => applyObjects(snapshot, { ...wanted, looked, now: clock.now() }));
  if (!applied.ok) throw new ConnectError(applied.error.join("\n"), Code.InvalidArgument);
  return create(ApplyResponseSchema, { applied: applied.value.map((one) => ({ ...one })) });
}
