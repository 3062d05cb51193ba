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
