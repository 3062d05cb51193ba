import { describe, expect, test } from "vitest";
import { bytes, millis, nodeId, replicaId } from "../core/ids.ts";
import type { ClusterNode, NodeLiveness } from "../core/node.ts";
import { nodeToWire } from "./node.ts";

const node = (liveness: NodeLiveness, problems: readonly string[]): ClusterNode => ({
  id: nodeId("gpu01"),
  inventory: {
    hostname: "gpu01",
    address: "10.0.0.7",
    agentVersion: "0.1.0",
    os: "Debian 12",
    arch: "x64",
    cpus: 8,
    memoryTotal: bytes(64),
    memoryAvailable: bytes(32),
    disks: [],
    gpus: [],
    engines: [],
    weights: [],
    fabrics: [],
    labels: { rack: "r12" },
    problems,
    notes: [],
  },
  liveness,
  cordoned: true,
  joinedAt: millis(1_000),
  lastSeen: millis(2_000),
});

const cases = [
  { name: "healthy", liveness: "connected", problems: [], state: "ready", reasons: [] },
  { name: "with a problem", liveness: "connected", problems: ["disk full"], state: "degraded", reasons: ["disk full"] },
  {
    name: "silent",
    liveness: "unreachable",
    problems: ["disk full"],
    state: "unreachable",
    reasons: ["nothing is heard from its agent; its engines go on serving", "disk full"],
  },
  {
    name: "silent for too long",
    liveness: "lost",
    problems: [],
    state: "lost",
    reasons: ["its agent has been silent for so long that its replicas are given up"],
  },
] as const;

describe("a node as the admin API shows it", () => {
  test.each(cases)("$name", ({ liveness, problems, state, reasons }) => {
    expect(nodeToWire(node(liveness, problems), [replicaId("r1")])).toMatchObject({
      id: "gpu01",
      state,
      reasons,
      cordoned: true,
      inventory: { hostname: "gpu01", labels: { rack: "r12" } },
      joinedAt: { seconds: 1n },
      lastSeen: { seconds: 2n },
      replicas: ["r1"],
    });
  });
});
