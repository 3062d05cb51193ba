import fc from "fast-check";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { Minute } from "./minute.ts";

const event = fc.record({
  later: fc.oneof(fc.integer({ min: 0, max: 900 }), fc.integer({ min: 0, max: 70_000 })),
  requests: fc.integer({ min: 0, max: 3 }),
  tokens: fc.integer({ min: 0, max: 50 }),
});

test("holds all of the last minute and little more, and is as empty as it said it would be", () => {
  fc.assert(
    fc.property(fc.array(event, { maxLength: 200 }), (events) => {
      const minute = new Minute();
      const past: { readonly at: number; readonly requests: number; readonly tokens: number }[] = [];
      let now = 1_000;
      for (const { later, requests, tokens } of events) {
        now += later;
        minute.add(millis(now), requests, tokens);
        past.push({ at: now, requests, tokens });
        const since = (ms: number) =>
          past.filter(({ at }) => now - at < ms).reduce((sum, one) => sum + one.requests, 0);
        expect(minute.requests(millis(now))).toBeGreaterThanOrEqual(since(60_000));
        expect(minute.requests(millis(now))).toBeLessThanOrEqual(since(60_500));
        const wait = minute.wait("tokens", 10, millis(now));
        expect(wait).toBeLessThanOrEqual(60_000);
        if (wait > 0) expect(minute.tokens(millis(now))).toBeGreaterThanOrEqual(10);
        expect(minute.emptyIn(millis(now))).toBeLessThanOrEqual(60_000);
      }
      const wait = minute.wait("tokens", 10, millis(now));
      expect(minute.tokens(millis(now + wait))).toBeLessThan(10);
      const empty = now + minute.emptyIn(millis(now));
      expect([minute.requests(millis(empty)), minute.tokens(millis(empty))]).toEqual([0, 0]);
    }),
  );
});

test("years of use keep no more than a minute", () => {
  const minute = new Minute();
  for (let now = 0; now < 10_000_000; now += 250) minute.add(millis(now), 1, 1);
  expect(minute.requests(millis(10_000_000))).toBeLessThanOrEqual(242);
});
