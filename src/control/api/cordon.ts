import { create } from "@bufbuild/protobuf";
import { type CordonRequest, type CordonResponse, CordonResponseSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import type { ControlPlane } from "../control-plane.ts";
import { cordonNode } from "../drain-node.ts";
import { unknownName } from "./refusal.ts";

export async function cordon(
  { loop }: Pick<ControlPlane, "loop">,
  { node, cordoned }: CordonRequest,
): Promise<CordonResponse> {
  const done = await loop.change((snapshot) => cordonNode(snapshot, node, cordoned));
  if (!done.ok) throw unknownName("node", node, done.error);
  return create(CordonResponseSchema);
}
