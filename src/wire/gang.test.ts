import { fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { profile, ready, replica } from "../../test/fakes/values.ts";
import { type GangTask, NEW_GANG, type RankReport } from "../core/gang.ts";
import { bytes, gpuUuid, millis, nodeId } from "../core/ids.ts";
import { gangToWire, reportFromWire, reportToWire, taskFromWire, taskToWire } from "./gang.ts";
import { GangTaskSchema, RankReportSchema } from "./gen/llmgw/v1/gang_pb.js";

const uint = fc.nat({ max: 0xffff_ffff });
const text = fc.string({ unit: "grapheme", maxLength: 20 });
const port = fc.nat({ max: 65_535 });

const task: fc.Arbitrary<GangTask> = fc.record({
  rank: uint,
  ranks: uint,
  fabric: text,
  attempt: uint,
  order: fc.constantFrom("prepare", "check", "run"),
  members: fc.array(fc.record({ node: text.map(nodeId), address: text, port }), { maxLength: 4 }),
});

const report: fc.Arbitrary<RankReport> = fc.record({
  rank: uint,
  attempt: uint,
  prepared: fc.option(fc.record({ engine: text, weights: text, digest: text, address: text, port }), {
    nil: undefined,
  }),
  findings: fc.option(
    fc.array(fc.record({ peer: uint, problem: text, clockAhead: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }) }), {
      maxLength: 3,
    }),
    { nil: undefined },
  ),
  launched: fc.boolean(),
  endedAt: fc.option(fc.integer({ min: 1, max: 4e12 }).map(millis), { nil: undefined }),
  retry: fc.boolean(),
  blamesOthers: fc.boolean(),
});

test("what a rank is told arrives as it was sent", () => {
  fc.assert(
    fc.property(task, (sent) => {
      const bytesSent = toBinary(GangTaskSchema, taskToWire(sent));
      expect(taskFromWire(fromBinary(GangTaskSchema, bytesSent))).toEqual(sent);
    }),
  );
});

test("what a rank says arrives as it was sent", () => {
  fc.assert(
    fc.property(report, (sent) => {
      const bytesSent = toBinary(RankReportSchema, reportToWire(sent));
      expect(reportFromWire(fromBinary(RankReportSchema, bytesSent))).toEqual(sent);
    }),
  );
});

test("an order that is not known starts nothing", () => {
  const sent = { rank: 1, ranks: 2, fabric: "f", attempt: 1, order: "run", members: [] } as const;
  expect(taskFromWire({ ...taskToWire(sent), order: "dance" }).order).toBe("prepare");
});

test("clocks that are further apart than the field can say are as far apart as it can say", () => {
  const sent: RankReport = {
    ...{
      rank: 0,
      attempt: 1,
      prepared: undefined,
      launched: false,
      endedAt: undefined,
      retry: true,
      blamesOthers: false,
    },
    findings: [{ peer: 1, problem: "", clockAhead: 1e13 }],
  };
  expect(reportFromWire(reportToWire(sent)).findings?.[0]?.clockAhead).toBe(2 ** 31 - 1);
});

test("what is shown of a gang: each rank with its node and its GPUs, the check in words, and never the key", () => {
  const share = (node: string) => ({
    ...{ node: nodeId(node), gpus: [gpuUuid(`${node}-0`)], memory: bytes(1), gpuMemory: bytes(1) },
  });
  const gang = {
    ...NEW_GANG,
    attempt: 3,
    lastEnd: "rank 1 on b: --api-key secret",
    check: { attempt: 3, at: millis(1), problems: [], clockSpread: 12 },
    ranks: [
      { rank: 0, node: nodeId("a"), state: "running", note: "", pid: 7 },
      { rank: 1, node: nodeId("b"), state: "ended", note: "secret", pid: undefined },
    ],
  } as const;
  const placement = { ...share("a"), gang: { fabric: "ib-a", engine: "vllm", followers: [share("b")] } } as const;
  const shown = gangToWire(replica("r", profile("p"), ready, { placement, gang }), (s) => s.replaceAll("secret", "…"));
  expect(shown).toMatchObject({
    fabric: "ib-a",
    attempt: 3,
    lastEnd: "rank 1 on b: --api-key …",
    check: "every rank reaches every other, builds and weights are the same, clocks are 12 ms apart",
    ranks: [
      { rank: 0, node: "a", state: "running", pid: 7, gpuUuids: ["a-0"] },
      { rank: 1, node: "b", state: "ended", note: "…", gpuUuids: ["b-0"] },
    ],
  });
  expect(gangToWire(replica("r", profile("p"), ready), (s) => s)).toBeUndefined();
});
