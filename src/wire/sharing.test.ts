import { fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect, test } from "vitest";
import { millis, nodeId } from "../core/ids.ts";
import { SharingPlanSchema, SharingReportSchema } from "./gen/llmgw/v1/sharing_pb.js";
import { sharingPlanFromWire, sharingPlanToWire, sharingReportFromWire, sharingReportToWire } from "./sharing.ts";

const text = fc.string({ unit: "grapheme" });
const node = text.map(nodeId);
const nodes = fc.array(node, { maxLength: 3 });
const count = fc.maxSafeNat();
const file = fc.record({ key: text, bytes: count, sha256: fc.stringMatching(/^[0-9a-f]{0,64}$/) });
const report = fc.record({
  port: fc.integer({ min: 0, max: 65_535 }),
  tls: fc.boolean(),
  held: fc.array(file),
  transfers: fc.array(
    fc.record({
      ...{ file, source: text, done: count, round: fc.nat(), wrong: nodes, from: nodes, unreachable: nodes },
      doing: fc.constantFrom("waiting" as const, "origin" as const, "peers" as const),
    }),
  ),
  originBytes: count,
  peerBytes: count,
  finds: fc.array(fc.record({ node, key: text })),
});
const source = fc.record({ node, host: text, port: fc.nat(65_535), tls: fc.boolean(), permission: text });
const plan = fc.record({
  orders: fc.array(
    fc.record({ key: text, toOrigin: fc.boolean(), leaderDone: count, sources: fc.array(source, { maxLength: 3 }) }),
  ),
  permissions: fc.array(fc.record({ permission: text, node, key: text, validFor: fc.nat().map(millis) })),
  suspects: fc.array(text),
});

test("a report is read as it was written", () => {
  fc.assert(
    fc.property(report, (one) => {
      const bytes = toBinary(SharingReportSchema, sharingReportToWire(one));
      expect(sharingReportFromWire(fromBinary(SharingReportSchema, bytes))).toEqual(one);
    }),
  );
});

test("a plan is read as it was written", () => {
  fc.assert(
    fc.property(plan, (one) => {
      const bytes = toBinary(SharingPlanSchema, sharingPlanToWire(one));
      expect(sharingPlanFromWire(fromBinary(SharingPlanSchema, bytes))).toEqual(one);
    }),
  );
});

test("numbers that make no sense are taken for unknown", () => {
  const wire = sharingReportToWire({
    ...{ port: 70_000, tls: false, held: [{ key: "f/m", bytes: -1, sha256: "AB" }], transfers: [], finds: [] },
    ...{ originBytes: NaN, peerBytes: 0.5 },
  });
  expect(sharingReportFromWire(wire)).toMatchObject({
    ...{ port: 0, held: [{ bytes: 0, sha256: "ab" }], originBytes: 0, peerBytes: 0 },
  });
});
