import { expect, test } from "vitest";
import { bytes } from "./ids.ts";
import { type Inventory, type NodeLiveness, nodeState, type NodeState } from "./node.ts";

const inventory = (problems: readonly string[]): Inventory => ({
  hostname: "gpu01",
  address: "10.0.0.7",
  agentVersion: "",
  os: "",
  arch: "",
  cpus: 1,
  memoryTotal: bytes(0),
  memoryAvailable: bytes(0),
  disks: [],
  gpus: [],
  engines: [],
  weights: [],
  fabrics: [],
  labels: {},
  problems,
  notes: ["a note makes nothing worse"],
});

const cases: readonly { liveness: NodeLiveness; problems: readonly string[]; want: NodeState }[] = [
  { liveness: "connected", problems: [], want: "ready" },
  { liveness: "connected", problems: ["the GPU fell off the bus"], want: "degraded" },
  { liveness: "unreachable", problems: [], want: "unreachable" },
  { liveness: "unreachable", problems: ["the GPU fell off the bus"], want: "unreachable" },
  { liveness: "lost", problems: [], want: "lost" },
  { liveness: "lost", problems: ["the GPU fell off the bus"], want: "lost" },
];

test.each(cases)("$liveness with problems $problems is $want", ({ liveness, problems, want }) => {
  expect(nodeState({ liveness, inventory: inventory(problems) })).toBe(want);
});
