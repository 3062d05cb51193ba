import { create, fromBinary, toBinary, toJson } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { usageRecord } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import { KeyTotalSchema, UsageRecordSchema } from "./gen/llmgw/v1/usage_pb.js";
import { recordToWire, totalFromWire, totalToWire } from "./usage.ts";

test("a record as the admin API shows it", () => {
  const tries = [{ replica: "p-1", replicas: 3, candidates: 2, inFlight: 7, why: "w", failure: "f", at: millis(2) }];
  const tokens = { prompt: 2 ** 33, cached: 5, completion: 6, estimated: true };
  const record = usageRecord({ number: 2 ** 40, stream: true, firstToken: millis(0), tries, tokens });
  expect(toJson(UsageRecordSchema, recordToWire(record))).toEqual({
    number: "1099511627776",
    requestId: "req-1099511627776",
    keyId: "k1",
    keyName: "app",
    model: "m",
    profile: "p",
    replica: "p-1",
    path: "/v1/chat/completions",
    stream: true,
    code: 200,
    outcome: "complete",
    endedAt: "2023-11-14T22:13:20Z",
    durationMs: 12,
    firstTokenMs: 0,
    attempts: 1,
    promptTokens: 2 ** 33,
    cachedTokens: 5,
    completionTokens: 6,
    estimated: true,
    served: true,
    tries: [{ replica: "p-1", replicas: 3, candidates: 2, inFlight: 7, why: "w", failure: "f", atMs: 2 }],
  });
});

test("a total comes out as it went in, and what is no count is nothing", () => {
  const total = { keyId: "k", day: 20_000, dayTokens: 5, month: 24_000, monthTokens: 2 ** 40 };
  expect(totalFromWire(fromBinary(KeyTotalSchema, toBinary(KeyTotalSchema, totalToWire(total))))).toEqual(total);
  const odd = create(KeyTotalSchema, { dayTokens: -1, monthTokens: Number.NaN });
  expect(totalFromWire(odd)).toMatchObject({ dayTokens: 0, monthTokens: 0 });
});
