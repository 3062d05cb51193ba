import { create } from "@bufbuild/protobuf";
import type { NodeId } from "../../core/ids.ts";
import { type Replica, shareOn } from "../../core/replica-state.ts";
import {
  type ListNodesRequest,
  type ListNodesResponse,
  ListNodesResponseSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { nodeToWire } from "../../wire/node.ts";
import type { ControlPlane } from "../control-plane.ts";

export function listNodes({ loop, agents }: ControlPlane, { id }: ListNodesRequest): ListNodesResponse {
  const { nodes, replicas } = loop.snapshot;
  return create(ListNodesResponseSchema, {
    nodes: nodes
      .filter((node) => id === "" || node.id === id)
      .map((node) =>
        nodeToWire({ ...node, lastSeen: agents.lastSeen(node.id) ?? node.lastSeen }, replicasOn(node.id, replicas)),
      ),
  });
}

/** A lost replica was on its node, and is no longer counted there. */
const replicasOn = (node: NodeId, replicas: readonly Replica[]) =>
  replicas
    .filter(
      ({ placement, state }) =>
        shareOn(placement, node) !== undefined && state.kind !== "lost" && state.kind !== "stopped",
    )
    .map(({ id }) => id);
