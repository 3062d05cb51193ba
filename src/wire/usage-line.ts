import { millis } from "../core/ids.ts";
import { quoted } from "../core/json-text.ts";
import type { Attempt, UsageRecord } from "../core/usage.ts";
import { countOf, type Fields, fieldsOf, isFields, listOf, parseJson, textOf } from "./json-value.ts";

/** One line without its end: JSON, written by hand because every request has one. */
export function lineOf(record: UsageRecord): string {
  const { firstToken, tokens, tries } = record;
  const first = firstToken === undefined ? "" : `,"firstToken":${String(firstToken)}`;
  const { prompt, cached, completion, estimated } = tokens;
  return (
    `{"number":${String(record.number)},"opened":${String(record.opened)},"requestId":${quoted(record.requestId)}` +
    `,"keyId":${quoted(record.keyId)},"keyName":${quoted(record.keyName)},"model":${quoted(record.model)}` +
    `,"profile":${quoted(record.profile)},"replica":${quoted(record.replica)},"path":${quoted(record.path)}` +
    `,"stream":${String(record.stream)},"code":${String(record.code)},"outcome":${quoted(record.outcome)}` +
    `,"detail":${quoted(record.detail)},"endedAt":${String(record.endedAt)},"duration":${String(record.duration)}${first}` +
    `,"waited":${String(record.waited)},"attempts":${String(record.attempts)},"tries":[${tries.map(tryText).join(",")}]` +
    `,"served":${String(record.served)},"tokens":{"prompt":${String(prompt)},"cached":${String(cached)}` +
    `,"completion":${String(completion)},"estimated":${String(estimated)}}}`
  );
}

const tryText = ({ replica, replicas, candidates, inFlight, why, failure, at }: Attempt): string =>
  `{"replica":${quoted(replica)},"replicas":${String(replicas)},"candidates":${String(candidates)}` +
  `,"inFlight":${String(inFlight)},"why":${quoted(why)},"failure":${quoted(failure)},"at":${String(at)}}`;

/** Undefined: that is no whole record. What a line leaves out, because an older program wrote it, is empty or nothing. */
export function recordOfLine(line: string): UsageRecord | undefined {
  const value = parseJson(line);
  if (!isFields(value)) return undefined;
  const number = count(value, "number");
  return number === 0 ? undefined : recordFrom(value, number);
}

const recordFrom = (json: Fields, number: number): UsageRecord => ({
  number,
  opened: count(json, "opened"),
  requestId: text(json, "requestId"),
  keyId: text(json, "keyId"),
  keyName: text(json, "keyName"),
  model: text(json, "model"),
  profile: text(json, "profile"),
  replica: text(json, "replica"),
  path: text(json, "path"),
  stream: json["stream"] === true,
  code: count(json, "code"),
  outcome: text(json, "outcome"),
  detail: text(json, "detail"),
  endedAt: millis(count(json, "endedAt")),
  duration: millis(count(json, "duration")),
  firstToken: json["firstToken"] === undefined ? undefined : millis(count(json, "firstToken")),
  waited: millis(count(json, "waited")),
  attempts: count(json, "attempts"),
  tries: triesFrom(json["tries"]),
  served: json["served"] === true,
  tokens: tokensFrom(json["tokens"]),
});

function tokensFrom(value: unknown): UsageRecord["tokens"] {
  const json = fieldsOf(value);
  return {
    prompt: count(json, "prompt"),
    cached: count(json, "cached"),
    completion: count(json, "completion"),
    estimated: json["estimated"] === true,
  };
}

const triesFrom = (value: unknown): readonly Attempt[] =>
  listOf(value)
    .filter(isFields)
    .map((json) => ({
      replica: text(json, "replica"),
      replicas: count(json, "replicas"),
      candidates: count(json, "candidates"),
      inFlight: count(json, "inFlight"),
      why: text(json, "why"),
      failure: text(json, "failure"),
      at: millis(count(json, "at")),
    }));

const text = (json: Fields, name: string): string => textOf(json[name]);

const count = (json: Fields, name: string): number => countOf(json[name]) ?? 0;
