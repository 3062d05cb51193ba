import { expect, test } from "vitest";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { GiB, profile, ready, replica, offer } from "../../test/fakes/values.ts";
import { bytes, nodeId } from "../core/ids.ts";
import type { Profile } from "../core/profile.ts";
import type { Placement, ReplicaState } from "../core/replica-state.ts";
import type { Snapshot } from "../store/store.ts";
import { makesRoom } from "./makes-room.ts";

const needing = (gib: number, arg: string): Profile =>
  profile("p", { args: [arg], resources: { nodes: 1, memory: bytes(gib * GiB) } });
const holding = (gib: number, on: string): Placement => ({
  node: nodeId(on),
  gpus: [],
  memory: bytes(gib * GiB),
  gpuMemory: bytes(0),
});
const noRoom: ReplicaState = {
  kind: "pending",
  rejections: [{ node: nodeId("n1"), filter: "memory", reason: "full" }],
};

/** A node of 64 GiB, of which the old replica's engine uses 40. */
const full = (wanted: Profile, more: Partial<Snapshot> = {}): Snapshot =>
  snapshot({
    profiles: [stored(wanted)],
    specs: [storedSpec(wanted)],
    nodes: [storedNode("n1", {}, { memoryAvailable: bytes(20 * GiB) })],
    replicas: [
      replica("old", needing(40, "old"), ready, { placement: holding(40, "n1") }),
      replica("new", wanted, noRoom),
    ],
    ...more,
  });

test.each([
  { name: "its memory would be enough", before: full(needing(40, "new")), want: ["old"] },
  { name: "not even then", before: full(needing(70, "new")), want: [] },
  {
    name: "its node takes none",
    before: full(needing(40, "new"), { nodes: [storedNode("n1", { cordoned: true })] }),
    want: [],
  },
  {
    name: "nothing waits",
    before: full(needing(40, "new"), {
      replicas: [replica("old", needing(40, "old"), ready, { placement: holding(40, "n1") })],
    }),
    want: [],
  },
])("$name", ({ before, want }) => {
  expect([...makesRoom(before, offer("llama.cpp"))]).toEqual(want);
});
