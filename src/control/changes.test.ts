import { describe, expect, test } from "vitest";
import { snapshot, stored, storedNode, storedSpec } from "../../test/fakes/snapshots.ts";
import { gpu, profile, ready, replica } from "../../test/fakes/values.ts";
import { bytes, millis } from "../core/ids.ts";
import type { Snapshot } from "../store/store.ts";
import { changesBetween, isEmpty } from "./changes.ts";

const smol = profile("smol");
const before = snapshot({
  profiles: [stored(smol)],
  specs: [storedSpec(smol)],
  nodes: [storedNode("n1", {}, { gpus: [gpu("g")] })],
  replicas: [replica("a", smol, { kind: "preparing", progress: undefined })],
});
const [node] = before.nodes;
const [a] = before.replicas;
if (node === undefined || a === undefined) throw new Error("the snapshot has both");

const progress = { what: "x", bytesDone: bytes(1), bytesTotal: bytes(2), bytesPerSecond: 0 };

describe("worth a write or not", () => {
  test.each<{ name: string; after: Partial<Snapshot>; want: readonly string[] }>([
    { name: "nothing", after: {}, want: [] },
    { name: "equal values in new objects", after: structuredClone(before), want: [] },
    { name: "progress", after: { replicas: [{ ...a, state: { kind: "preparing", progress } }] }, want: [] },
    { name: "a new state", after: { replicas: [{ ...a, state: ready }] }, want: ["putReplicas"] },
    { name: "another address of a ready one", after: { replicas: [{ ...a, pid: 7 }] }, want: ["putReplicas"] },
    { name: "a replica that is gone", after: { replicas: [] }, want: ["dropReplicas"] },
    {
      name: "free memory, free disk, when it was seen",
      after: {
        nodes: [
          {
            ...node,
            lastSeen: millis(99),
            inventory: {
              ...node.inventory,
              memoryAvailable: bytes(1),
              disks: node.inventory.disks.map((disk) => ({ ...disk, free: bytes(1) })),
              gpus: [gpu("g", { memoryFree: bytes(1) })],
            },
          },
        ],
      },
      want: [],
    },
    {
      name: "a sick GPU",
      after: { nodes: [{ ...node, inventory: { ...node.inventory, gpus: [gpu("g", { problem: "ECC" })] } }] },
      want: ["putNodes"],
    },
    { name: "a silent node", after: { nodes: [{ ...node, liveness: "unreachable" }] }, want: ["putNodes"] },
    { name: "a node that was removed", after: { nodes: [] }, want: ["dropNodes"] },
    { name: "a profile and what it was", after: { profiles: [], specs: [] }, want: ["dropProfiles", "dropSpecs"] },
  ])("$name", ({ after, want }) => {
    const changes = changesBetween(before, { ...before, ...after }, []);
    expect(
      Object.entries(changes)
        .filter(([, list]) => (list as readonly unknown[]).length > 0)
        .map(([key]) => key)
        .toSorted(),
    ).toEqual(want);
    expect(isEmpty(changes)).toBe(want.length === 0);
  });
});
