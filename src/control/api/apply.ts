import { create } from "@bufbuild/protobuf";
import { err } from "../../core/result.ts";
import { type ApplyRequest, type ApplyResponse, ApplyResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { applyObjects } from "../apply-objects.ts";
import { lookAtUnknown } from "../informed-apply.ts";
import { objectsOf, refusedFor } from "./manifests.ts";

/** The whole manifest or nothing, with every reason. */
export async function apply(plane: ControlPlane, { manifest, fileName, files }: ApplyRequest): Promise<ApplyResponse> {
  const { refusals, ...wanted } = objectsOf(
    manifest === "" && files.length > 0 ? files : [{ manifest, fileName }, ...files],
  );
  const { loop, clock } = plane;
  const looked = await lookAtUnknown(plane, wanted.profiles);
  const already = [...refusals, ...(await plane.upstreamSecrets.look(wanted.upstreams))];
  const applied = await loop.change((snapshot) => {
    const result = applyObjects(snapshot, { ...wanted, looked, now: clock.now() });
    return already.length === 0 ? result : err([...already, ...(result.ok ? [] : result.error)]);
  });
  if (!applied.ok) throw refusedFor(applied.error);
  return create(ApplyResponseSchema, { applied: applied.value.map((one) => ({ ...one })) });
}
