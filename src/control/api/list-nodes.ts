import { create } from "@bufbuild/protobuf";
import {
  type ListNodesRequest,
  type ListNodesResponse,
  ListNodesResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { nodeToWire } from "../../wire/node.ts";
import { transferToWire } from "../../wire/sharing.ts";
import { brakeNotice } from "../attention.ts";
import type { ControlPlane } from "../control-plane.ts";
import { replicasOn } from "../drain-node.ts";

export function listNodes({ loop, agents, weights }: ControlPlane, { id }: ListNodesRequest): ListNodesResponse {
  const { nodes, replicas } = loop.snapshot;
  const moving = weights.transfers();
  return create(ListNodesResponseSchema, {
    notice: brakeNotice(loop.liveness),
    nodes: nodes
      .filter((node) => id === "" || node.id === id)
      .map((node) => {
        const ids = replicasOn(replicas, node.id).map((replica) => replica.id);
        const seen = { ...node, lastSeen: agents.lastSeen(node.id) ?? node.lastSeen };
        return { ...nodeToWire(seen, ids), transfers: (moving.get(node.id) ?? []).map(transferToWire) };
      }),
  });
}
