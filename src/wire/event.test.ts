import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { eventToWire } from "./event.ts";
import { EventSchema } from "./gen/llmgw/v1/common_pb.js";

test("an event keeps every field", () => {
  const message = eventToWire({
    id: 7,
    at: millis(1_700_000_000_123),
    level: "warning",
    subjectKind: "node",
    subject: "gpu01",
    reason: "NodeUnreachable",
    message: "nothing heard for 15s",
  });
  expect(fromBinary(EventSchema, toBinary(EventSchema, message))).toMatchObject({
    id: 7,
    at: { seconds: 1_700_000_000n, nanos: 123_000_000 },
    level: "warning",
    subjectKind: "node",
    subject: "gpu01",
    reason: "NodeUnreachable",
    message: "nothing heard for 15s",
  });
});
