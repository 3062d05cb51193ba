import { create } from "@bufbuild/protobuf";
import type { Attempt, KeyTotal, UsageRecord } from "../core/usage.ts";
import {
  type Attempt as WireAttempt,
  AttemptSchema,
  type KeyTotal as WireTotal,
  KeyTotalSchema,
  type UsageRecord as WireRecord,
  UsageRecordSchema,
} from "./gen/llmgw/v1/usage_pb.js";
import { asCount, toText, toTimestamp, toUint32 } from "./scalar.ts";

/** As the admin API shows it. */
export const recordToWire = (record: UsageRecord): WireRecord =>
  create(UsageRecordSchema, {
    number: BigInt(record.number),
    requestId: toText(record.requestId),
    keyId: record.keyId,
    keyName: toText(record.keyName),
    model: toText(record.model),
    profile: record.profile,
    replica: record.replica,
    path: toText(record.path),
    stream: record.stream,
    code: toUint32(record.code),
    outcome: record.outcome,
    detail: toText(record.detail),
    endedAt: toTimestamp(record.endedAt),
    durationMs: toUint32(record.duration),
    ...(record.firstToken === undefined ? {} : { firstTokenMs: toUint32(record.firstToken) }),
    waitedMs: toUint32(record.waited),
    attempts: toUint32(record.attempts),
    tries: record.tries.map(attemptToWire),
    served: record.served,
    promptTokens: record.tokens.prompt,
    cachedTokens: record.tokens.cached,
    completionTokens: record.tokens.completion,
    estimated: record.tokens.estimated,
  });

const attemptToWire = ({ replica, replicas, candidates, inFlight, why, failure, at }: Attempt): WireAttempt =>
  create(AttemptSchema, {
    replica,
    replicas: toUint32(replicas),
    candidates: toUint32(candidates),
    inFlight: toUint32(inFlight),
    why: toText(why),
    failure: toText(failure),
    atMs: toUint32(at),
  });

export const totalToWire = ({ keyId, day, dayTokens, month, monthTokens }: KeyTotal): WireTotal =>
  create(KeyTotalSchema, { keyId, day: toUint32(day), dayTokens, month: toUint32(month), monthTokens });

export const totalFromWire = ({ keyId, day, dayTokens, month, monthTokens }: WireTotal): KeyTotal => ({
  keyId,
  day,
  dayTokens: asCount(dayTokens),
  month,
  monthTokens: asCount(monthTokens),
});
