import { create } from "@bufbuild/protobuf";
import {
  type ListNodesRequest,
  type ListNodesResponse,
  ListNodesResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { nodeToWire } from "../../wire/node.ts";
import { brakeNotice } from "../attention.ts";
import type { ControlPlane } from "../control-plane.ts";
import { replicasOn } from "../drain-node.ts";

export function listNodes({ loop, agents }: ControlPlane, { id }: ListNodesRequest): ListNodesResponse {
  const { nodes, replicas } = loop.snapshot;
  return create(ListNodesResponseSchema, {
    notice: brakeNotice(loop.liveness),
    nodes: nodes
      .filter((node) => id === "" || node.id === id)
      .map((node) => {
        const ids = replicasOn(replicas, node.id).map((replica) => replica.id);
        return nodeToWire({ ...node, lastSeen: agents.lastSeen(node.id) ?? node.lastSeen }, ids);
      }),
  });
}
