import { create } from "@bufbuild/protobuf";
import { REPLICA_TRAITS } from "../../core/replica-state.ts";
import { replicasByNode } from "../../core/replicas-by-node.ts";
import {
  type ListNodesRequest,
  type ListNodesResponse,
  ListNodesResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { nodeToWire } from "../../wire/node.ts";
import { transferToWire } from "../../wire/sharing.ts";
import { brakeNotice } from "../attention.ts";
import type { ControlPlane } from "../control-plane.ts";

export function listNodes({ loop, agents, weights }: ControlPlane, { id }: ListNodesRequest): ListNodesResponse {
  const { nodes, replicas } = loop.snapshot;
  const moving = weights.transfers();
  const byNode = replicasByNode(replicas.filter(({ state }) => REPLICA_TRAITS[state.kind].holdsResources));
  return create(ListNodesResponseSchema, {
    notice: brakeNotice(loop.liveness),
    nodes: nodes
      .filter((node) => id === "" || node.id === id)
      .map((node) => {
        const ids = (byNode.get(node.id) ?? []).map((replica) => replica.id);
        const seen = { ...node, lastSeen: agents.lastSeen(node.id) ?? node.lastSeen };
        return { ...nodeToWire(seen, ids), transfers: (moving.get(node.id) ?? []).map(transferToWire) };
      }),
  });
}
