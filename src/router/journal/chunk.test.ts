import fc from "fast-check";
import { expect, test } from "vitest";
import { usageRecord } from "../../../test/fakes/values.ts";
import { millis } from "../../core/ids.ts";
import { dayOf } from "../../core/usage.ts";
import { recordOfLine } from "../../wire/usage-line.ts";
import { batchOf, bytesOf, type Chunk, pushRecord, recordsIn } from "./chunk.ts";

const DAY = 86_400_000;
const record = fc.record({ keyId: fc.constantFrom("a", "b"), prompt: fc.nat({ max: 9 }), day: fc.nat({ max: 2 }) });

test("what is put in comes out in messages that are not too large, in order, with what each key took each day", () => {
  fc.assert(
    fc.property(fc.array(record, { maxLength: 4_500, size: "max" }), (all) => {
      const chunks: Chunk[] = [];
      for (const [at, { keyId, prompt, day }] of all.entries()) {
        const tokens = { prompt, cached: 0, completion: 1, estimated: false };
        pushRecord(chunks, usageRecord({ number: at + 1, keyId, tokens, endedAt: millis(day * DAY + at) }));
      }
      expect(recordsIn(chunks)).toBe(all.length);
      const spent = new Map<string, number>();
      for (const one of chunks.flatMap((chunk) => [...chunk.spent()])) {
        const name = `${one.keyId} ${String(dayOf(one.endedAt))}`;
        spent.set(name, (spent.get(name) ?? 0) + one.tokens);
      }
      const wanted = new Map<string, number>();
      for (const { keyId, prompt, day } of all) {
        const name = `${keyId} ${String(day)}`;
        wanted.set(name, (wanted.get(name) ?? 0) + prompt + 1);
      }
      expect(spent).toEqual(wanted);
      const numbers: (number | undefined)[] = [];
      while (chunks.length > 0) {
        const batch = batchOf(chunks);
        const its = bytesOf(batch)
          .toString()
          .split("\n")
          .slice(0, -1)
          .map((line) => recordOfLine(line)?.number);
        expect(its.length).toBeLessThanOrEqual(2_000);
        expect(its.at(-1)).toBe(batch.at(-1)?.last);
        numbers.push(...its);
        for (const chunk of chunks.splice(0, batch.length)) chunk.release();
      }
      expect(numbers).toEqual(all.map((_, at) => at + 1));
    }),
    { numRuns: 30 },
  );
});
