import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { type ManifestObject, parseManifest } from "../../config/manifest.ts";
import { renderProblems } from "../../config/problem.ts";
import { unsupported } from "../../config/unsupported.ts";
import { type ApplyRequest, type ApplyResponse, ApplyResponseSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { applyProfiles } from "../manifest-change.ts";

/** The whole manifest or nothing, with every reason. */
export async function apply(
  { loop, clock }: ControlPlane,
  { manifest, fileName }: ApplyRequest,
): Promise<ApplyResponse> {
  const parsed = parseManifest(manifest, fileName === "" ? "manifest" : fileName);
  if (!parsed.ok) throw new ConnectError(renderProblems(parsed.error), Code.InvalidArgument);
  const refusals = parsed.value.flatMap(unsupported);
  if (refusals.length > 0) throw new ConnectError(refusals.join("\n"), Code.InvalidArgument);
  const profiles = parsed.value.flatMap(profileOf);
  const applied = await loop.change((snapshot) => applyProfiles(snapshot, profiles, clock.now()));
  if (!applied.ok) throw new ConnectError(applied.error.join("\n"), Code.InvalidArgument);
  return create(ApplyResponseSchema, {
    applied: applied.value.map(({ name, outcome }) => ({ kind: "Profile", name, outcome })),
  });
}

const profileOf = (object: ManifestObject) => (object.kind === "Profile" ? [object.profile] : []);
