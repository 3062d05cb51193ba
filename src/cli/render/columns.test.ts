import { create } from "@bufbuild/protobuf";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { ReplicaSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { processColumns } from "./columns.ts";

test.each([
  { endpoint: { host: "10.0.0.11", port: 41_000 }, want: "10.0.0.11:41000" },
  { endpoint: { host: "fd00::11", port: 41_000 }, want: "[fd00::11]:41000" },
])("a replica's endpoint can be copied into a URL: $want", ({ endpoint, want }) => {
  const columns = processColumns({ now: millis(0), colours: pc.createColors(false) });
  const column = columns.find(({ header }) => header === "ENDPOINT");
  expect(column?.cell(create(ReplicaSchema, { id: "a-1", endpoint }))).toBe(want);
});
