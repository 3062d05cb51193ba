import fc from "fast-check";
import { expect, test } from "vitest";
import { gpu } from "../../../test/fakes/values.ts";
import { withSlices } from "./mig-list.ts";

test("slices of the newer and the older kind, each under its card", () => {
  const list =
    "GPU 0: A100 (UUID: GPU-a)\r\n  MIG 1g.5gb      Device  0: (UUID: MIG-1)\r\n  MIG 1c.3g.20gb  Device  1: (UUID: MIG-GPU-a/2/0)\r\n" +
    "GPU 1: A100 (UUID: GPU-b)\r\n  MIG 7g.40gb+me  Device  0: (UUID: MIG-3)\r\n";
  const all = withSlices([gpu("GPU-a"), gpu("GPU-b"), gpu("GPU-c")], ["GPU-a", "GPU-b"], list);
  expect(all.map(({ uuid, parent, memoryTotal }) => [uuid, parent, memoryTotal / 1e9])).toEqual([
    ["MIG-1", "GPU-a", 5],
    ["MIG-GPU-a/2/0", "GPU-a", 20],
    ["MIG-3", "GPU-b", 40],
    ["GPU-c", undefined, gpu("GPU-c").memoryTotal / 1e9],
  ]);
});

test("any list leaves whole cards alone and loses no cut one", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (list) => {
      const [first, ...rest] = withSlices([gpu("GPU-c"), gpu("GPU-a")], ["GPU-a"], list);
      expect(first).toEqual(gpu("GPU-c"));
      expect(rest.length).toBeGreaterThan(0);
    }),
  );
});
