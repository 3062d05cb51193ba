import { create } from "@bufbuild/protobuf";
import pc from "picocolors";
import { expect, test } from "vitest";
import { PlannedChangeSchema } from "../../wire/gen/llmgw/v1/changing_pb.js";
import { diffPage, planPage } from "./plan-page.ts";

const colours = pc.createColors(false);
const same = create(PlannedChangeSchema, { kind: "Profile", name: "same", outcome: "unchanged" });
const changed = create(PlannedChangeSchema, {
  kind: "Profile",
  name: "smol",
  outcome: "changed",
  fields: [
    { path: "context", before: "4096", after: "8192" },
    { path: "args", after: '["--new"]' },
  ],
  places: [
    { node: "n1", gpuUuids: ["GPU-1"], fetches: true, fetchBytes: 2 ** 30 },
    { node: "n1", gpuUuids: ["GPU-2"] },
    { node: "n2", fetches: true },
    { reason: "n3 is cordoned" },
  ],
  sentences: ["2 replicas are replaced"],
});

test("nothing", () => {
  expect(planPage([same], colours)).toBe("Nothing would change.\n");
  expect(diffPage([same], colours)).toBe("");
});

test("what would change, where to, and what is fetched", () => {
  expect(planPage([same, changed], colours)).toMatchInlineSnapshot(`
    "~ profile/smol would be changed
        - context: 4096
        + context: 8192
        + args: ["--new"]
        2 new replicas on n1 (GPU-1, GPU-2; fetches 1.0 GiB first)
        1 new replica on n2 (the weights are fetched first, nobody knows how many bytes)
        1 new replica no place: n3 is cordoned
        2 replicas are replaced
    "
  `);
});
