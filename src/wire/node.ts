import { create } from "@bufbuild/protobuf";
import type { ReplicaId } from "../core/ids.ts";
import { type ClusterNode, type NodeState, nodeState } from "../core/node.ts";
import { type Node, NodeSchema } from "./gen/llmgw/v1/admin_pb.js";
import { inventoryToWire } from "./inventory.ts";
import { toText, toTimestamp } from "./scalar.ts";

const REASON_OF_STATE: Readonly<Record<NodeState, readonly string[]>> = {
  ready: [],
  degraded: [],
  unreachable: ["nothing is heard from its agent; its engines go on serving"],
  lost: ["its agent has been silent for so long that its replicas are given up"],
};

/** A node as the admin API shows it, with the replicas that are on it. */
export function nodeToWire(node: ClusterNode, replicas: readonly ReplicaId[]): Node {
  const state = nodeState(node);
  return create(NodeSchema, {
    id: node.id,
    state,
    reasons: [...REASON_OF_STATE[state], ...node.inventory.problems].map(toText),
    cordoned: node.cordoned,
    inventory: inventoryToWire(node.inventory),
    lastSeen: toTimestamp(node.lastSeen),
    joinedAt: toTimestamp(node.joinedAt),
    replicas: [...replicas],
    draining: node.drain !== undefined,
    ...(node.drain === undefined ? {} : { drainDeadline: toTimestamp(node.drain.deadline) }),
  });
}
