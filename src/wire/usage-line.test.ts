import fc from "fast-check";
import { expect, test } from "vitest";
import { usageRecord } from "../../test/fakes/values.ts";
import { millis } from "../core/ids.ts";
import { lineOf, recordOfLine } from "./usage-line.ts";

const tries = [{ replica: "r", replicas: 2, candidates: 1, inFlight: 0, why: "w", failure: "", at: millis(3) }];
const full = usageRecord({ number: 3, firstToken: millis(0), tries, detail: 'a "b"\nü\u2028' });

test("a record is one line, and comes out as it went in", () => {
  expect(lineOf(full)).not.toContain("\n");
  expect(recordOfLine(lineOf(full))).toEqual(full);
  expect(recordOfLine(lineOf(usageRecord({ number: 1 })))).toEqual(usageRecord({ number: 1 }));
});

const TEXT = fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("", '"', "\\", "a b", "\u2028", "/v1/x?y=\t"));
const COUNT = fc.nat();

test("whatever is in a record, its line is JSON that says it, a byte a character", () => {
  const records = fc.record({
    ...{ requestId: TEXT, keyId: TEXT, keyName: TEXT, model: TEXT, profile: TEXT, replica: TEXT, path: TEXT },
    ...{ outcome: TEXT, detail: TEXT, stream: fc.boolean(), served: fc.boolean(), attempts: COUNT, opened: COUNT },
    firstToken: fc.option(COUNT.map(millis), { nil: undefined }),
    tokens: fc.record({ prompt: COUNT, cached: COUNT, completion: COUNT, estimated: fc.boolean() }),
    tries: fc.array(
      fc.record({
        ...{ replica: TEXT, why: TEXT, failure: TEXT, replicas: COUNT, candidates: COUNT, inFlight: COUNT },
        at: COUNT.map(millis),
      }),
      { maxLength: 3 },
    ),
  });
  fc.assert(
    fc.property(records, (fields) => {
      const record = usageRecord({ ...fields, number: 9 });
      expect(recordOfLine(lineOf(record))).toEqual(record);
      expect(lineOf(record)).not.toContain("\n");
      expect(Buffer.byteLength(lineOf(record))).toBe(lineOf(record).length);
    }),
  );
});

test("a line cut anywhere is none", () => {
  const line = lineOf(full);
  for (let length = 0; length < line.length; length++) expect(recordOfLine(line.slice(0, length))).toBeUndefined();
});

test("whatever a line holds, nothing throws and no count is below nothing", () => {
  const anything = fc.oneof(
    fc.string(),
    fc.json(),
    fc
      .record({ number: fc.integer({ min: 1 }), tokens: fc.anything(), code: fc.anything() })
      .map((v) => JSON.stringify(v)),
  );
  fc.assert(
    fc.property(anything, (line) => {
      const record = recordOfLine(line);
      if (record === undefined) return;
      for (const value of [record.number, record.code, record.tokens.prompt, record.tokens.completion]) {
        expect(Number.isSafeInteger(value) && value >= 0).toBe(true);
      }
    }),
  );
});
