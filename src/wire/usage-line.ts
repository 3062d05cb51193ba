import { millis } from "../core/ids.ts";
import type { Attempt, UsageRecord } from "../core/usage.ts";
import { countOf, type Fields, fieldsOf, isFields, listOf, parseJson, textOf } from "./json-value.ts";

const NOT_ASCII = /[^\0-\x7f]/g;

/** One line without its end, each of its characters a byte. */
export const lineOf = (record: UsageRecord): string => inAscii(JSON.stringify(record));

/** The same JSON with nothing in it that takes more than a byte. */
export const inAscii = (json: string): string =>
  Buffer.byteLength(json) === json.length ? json : json.replace(NOT_ASCII, escaped);

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

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
