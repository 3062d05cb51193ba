import { create } from "@bufbuild/protobuf";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { ReplicaSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { replicaColumns } from "./columns.ts";

test("a replica over several nodes: its head and how many more, and in the wide form every rank", () => {
  const replica = create(ReplicaSchema, {
    ...{ id: "big-1", profile: "big", state: "starting", node: "a", gpuUuids: ["a0", "b0"] },
    gang: {
      ...{ fabric: "ib-a", attempt: 2, check: "clocks are 3 ms apart" },
      ranks: [
        { rank: 0, node: "a", state: "running" },
        { rank: 1, node: "b", state: "ended", note: "killed by SIGKILL" },
      ],
    },
  });
  const columns = replicaColumns({ now: millis(0), colours: pc.createColors(false) });
  const cell = (header: string) => columns.find((column) => column.header === header)?.cell(replica);
  expect(["NODE", "GPUS", "FABRIC", "ATTEMPT", "RANKS", "CHECK"].map(cell)).toEqual([
    ...["a +1", "2", "ib-a", "2", "0 a running, 1 b ended: killed by SIGKILL", "clocks are 3 ms apart"],
  ]);
});
