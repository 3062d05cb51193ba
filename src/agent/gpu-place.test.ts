import { describe, expect, test } from "vitest";
import { bytes, gpuUuid } from "../core/ids.ts";
import type { Gpu } from "../core/node.ts";
import { placeOnGpus } from "./gpu-place.ts";

const gpu = (index: number, change: Partial<Gpu> = {}): Gpu => ({
  uuid: gpuUuid(`GPU-${String(index)}`),
  index,
  name: "H100",
  memoryTotal: bytes(80),
  memoryFree: bytes(80),
  unified: false,
  problem: undefined,
  driverVersion: "580",
  computeCapability: "9.0",
  pciBusId: "",
  numaNode: undefined,
  links: [],
  parent: undefined,
  ...change,
});
const uuids = (...numbers: readonly number[]) => numbers.map((number) => gpuUuid(`GPU-${String(number)}`));

describe("placeOnGpus", () => {
  test.each([
    {
      name: "the order of the replica's own",
      gpus: uuids(2, 0),
      found: [gpu(0), gpu(1), gpu(2)],
      is: { gpuIndexes: [2, 0] },
    },
    {
      name: "a part of the smallest",
      gpus: uuids(0, 1),
      found: [gpu(0), gpu(1, { memoryTotal: bytes(40) })],
      memory: 20,
      is: { gpuIndexes: [0, 1], gpuShare: 0.5 },
    },
    { name: "all of it", gpus: uuids(0), found: [gpu(0)], memory: 80, is: { gpuIndexes: [0] } },
    {
      name: "no numbers beside a card that failed",
      gpus: uuids(1),
      found: [gpu(0, { problem: "fell off the bus" }), gpu(1)],
      memory: 40,
      is: { gpuShare: 0.5 },
    },
    { name: "no numbers for slices", gpus: uuids(1), found: [gpu(1, { parent: gpuUuid("GPU-0") })], is: {} },
    { name: "a card that is not found", gpus: uuids(0, 7), found: [gpu(0)], memory: 40, is: {} },
    { name: "the CPU", gpus: [], found: [gpu(0)], is: {} },
  ])("$name", ({ gpus, found, memory, is }) => {
    expect(placeOnGpus({ gpus, ...(memory === undefined ? {} : { gpuMemory: bytes(memory) }) }, found)).toEqual(is);
  });
});
