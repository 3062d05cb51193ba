import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis } from "../../src/core/ids.ts";
import { dayOf, firstDayOf, monthOf, monthOfDay, type UsageRecord } from "../../src/core/usage.ts";
import type { Store } from "../../src/store/store.ts";
import { usageRecord } from "../fakes/values.ts";

const NOW = millis(Date.UTC(2026, 9, 17, 12));
const TODAY = dayOf(NOW);
const DAY = 86_400_000;
const ALL = { by: [], since: undefined, until: undefined, keyIds: undefined, model: undefined } as const;

const record = (number: number, more: Partial<UsageRecord> = {}): UsageRecord =>
  usageRecord({ number, endedAt: NOW, ...more });
const took = (prompt: number, completion: number) => ({ prompt, cached: 1, completion, estimated: false });

/** What every store answers about usage. */
export function usageSuite(name: string, open: () => Promise<Store>): void {
  const withUsage = async (use: (usage: Store["usage"]) => Promise<void>): Promise<void> => {
    const store = await open();
    try {
      await use(store.usage);
    } finally {
      await store.close();
    }
  };

  describe(`usage: ${name}`, () => {
    test("is summed by key, model and day, and in any order of these", () =>
      withUsage(async (usage) => {
        await usage.add(
          {
            instance: "a",
            records: [
              record(1, { tokens: took(10, 5) }),
              record(2, { tokens: { ...took(3, 1), estimated: true }, model: "n" }),
              record(3, { tokens: took(100, 0), endedAt: millis(NOW - DAY) }),
              record(4, { tokens: took(7, 7), keyId: "k2", keyName: "other" }),
              record(5, { served: false, tokens: took(0, 0) }),
            ],
          },
          NOW,
        );
        const whole = { prompt: 120, cached: 4, completion: 13, requests: 4, estimated: 1 };
        expect(await usage.sums(ALL)).toMatchObject([whole]);
        const byKey = await usage.sums({ ...ALL, by: ["key", "day"] });
        expect(byKey.map((row) => [row.keyName, row.day, row.prompt, row.model])).toEqual([
          ["app", TODAY - 1, 100, undefined],
          ["app", TODAY, 13, undefined],
          ["other", TODAY, 7, undefined],
        ]);
        const byModel = await usage.sums({ ...ALL, by: ["model"], since: TODAY, keyIds: ["k1"] });
        expect(byModel.map((row) => [row.model, row.requests])).toEqual([
          ["m", 1],
          ["n", 1],
        ]);
        expect(await usage.sums({ ...ALL, until: TODAY - 2 })).toEqual([]);
        expect(await usage.sums({ ...ALL, keyIds: [] })).toEqual([]);
      }));

    test("however often it is sent, each record counts once", () =>
      withUsage(async (usage) => {
        const batch = (from: number, to: number) => ({
          instance: "a",
          records: Array.from({ length: to - from + 1 }, (_, n) => record(from + n, { tokens: took(1, 1) })),
        });
        expect((await usage.add(batch(1, 3), NOW)).through).toBe(3);
        expect((await usage.add(batch(1, 3), NOW)).through).toBe(3);
        expect(await usage.add(batch(2, 5), NOW)).toMatchObject({
          through: 5,
          totals: [{ keyId: "k1", dayTokens: 10 }],
        });
        // Another process has numbers of its own.
        await usage.add({ ...batch(1, 2), instance: "b" }, NOW);
        expect(await usage.sums(ALL)).toMatchObject([{ requests: 7, prompt: 7 }]);
        // A line that was torn leaves a gap.
        expect((await usage.add({ instance: "a", records: [record(9)] }, NOW)).through).toBe(9);
      }));

    test("any sending, in any overlapping pieces, adds up to each record once", () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.record({ from: fc.integer({ min: 1, max: 20 }), size: fc.integer({ min: 1, max: 8 }) }), {
            maxLength: 8,
          }),
          (sendings) =>
            withUsage(async (usage) => {
              let highest = 0;
              for (const { from, size } of sendings) {
                // A sender begins at what it knows to be counted, or before it.
                const first = Math.min(from, highest + 1);
                const numbers = Array.from({ length: size }, (_, n) => first + n);
                highest = Math.max(highest, first + size - 1);
                await usage.add({ instance: "a", records: numbers.map((n) => record(n, { tokens: took(1, 0) })) }, NOW);
              }
              const [sum] = await usage.sums(ALL);
              expect(sum?.requests ?? 0).toBe(highest);
            }),
        ),
        { numRuns: 15 },
      ));

    test("totals of a day and its month, over all models and routers", () =>
      withUsage(async (usage) => {
        const firstOfMonth = firstDayOf(monthOf(NOW)) * DAY;
        await usage.add(
          { instance: "a", records: [record(1, { tokens: took(1, 1), endedAt: millis(firstOfMonth) })] },
          NOW,
        );
        await usage.add(
          { instance: "a", records: [record(2, { tokens: took(9, 9), endedAt: millis(firstOfMonth - 1) })] },
          NOW,
        );
        const added = await usage.add(
          { instance: "b", records: [record(1, { tokens: took(2 ** 40, 2), model: "n" })] },
          NOW,
        );
        const total = {
          keyId: "k1",
          day: TODAY,
          month: monthOfDay(TODAY),
          dayTokens: 2 ** 40 + 2,
          monthTokens: 2 ** 40 + 4,
        };
        expect(added.totals).toEqual([total]);
        expect(await usage.totals(TODAY)).toEqual([total]);
        expect(await usage.totals(TODAY + 40)).toEqual([]);
      }));

    test("a request is found by its id, the latest first, and by no part of it", () =>
      withUsage(async (usage) => {
        const tries = [
          { replica: "r1", replicas: 2, candidates: 2, inFlight: 0, why: "w", failure: "f", at: millis(1) },
        ];
        const found = record(1, { requestId: "req_1", tries });
        await usage.add(
          { instance: "a", records: [found, record(2, { requestId: "req-1" }), record(3, { requestId: "req_12" })] },
          NOW,
        );
        await usage.add({ instance: "b", records: [record(1, { requestId: "req_1" })] }, millis(NOW + 1));
        expect(await usage.requests("req_1")).toEqual([
          { instance: "b", record: record(1, { requestId: "req_1" }) },
          { instance: "a", record: found },
        ]);
        expect(await usage.requests("req")).toEqual([]);
        expect(await usage.requests('%"')).toEqual([]);
      }));

    test("what is old makes room", () =>
      withUsage(async (usage) => {
        await usage.add({ instance: "a", records: [record(1, { endedAt: millis(NOW - 5 * DAY) }), record(2)] }, NOW);
        await usage.prune(TODAY - 4, NOW);
        expect(await usage.sums({ ...ALL, by: ["day"] })).toMatchObject([{ day: TODAY, requests: 1 }]);
        expect(await usage.requests("req-2")).toHaveLength(1);
        await usage.prune(TODAY - 4, millis(NOW + 2 * DAY));
        expect(await usage.requests("req-2")).toEqual([]);
      }));

    test("routers that are here, until they are proven to have ended", () =>
      withUsage(async (usage) => {
        await usage.noteRouter("a", "here", NOW);
        await usage.noteRouter("b", "here", NOW);
        await usage.add({ instance: "b", records: [record(4)] }, NOW);
        await usage.noteRouter("b", "ended", NOW);
        expect(await usage.routers(NOW)).toEqual(["a"]);
        expect(await usage.routers(millis(NOW + 1))).toEqual([]);
        expect((await usage.add({ instance: "b", records: [record(4)] }, NOW)).through).toBe(4);
        expect(await usage.sums(ALL)).toMatchObject([{ requests: 1 }]);
      }));
  });
}
