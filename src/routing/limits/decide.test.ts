import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type KeyLimits, NO_LIMITS } from "../../core/client-key.ts";
import { millis } from "../../core/ids.ts";
import { decideLimits } from "./decide.ts";
import { current, type KeyUse, type Moment, settled, UNUSED } from "./use.ts";

/** Half past three on the last but one day of a month. */
const START = Date.UTC(2026, 3, 29, 15, 30);
const at = (ms: number): Moment => ({ wall: millis(START + ms), monotonic: millis(1_000 + ms) });

/** One request after the other, each ended at once; the decision on the last. */
function after(count: number, limits: Partial<KeyLimits>, { tokens = 0, when = at(0) } = {}): KeyUse {
  let use = UNUSED;
  for (let n = 0; n < count; n++) {
    const decision = decideLimits(use, { ...NO_LIMITS, ...limits }, when);
    if (decision.kind === "admit") use = settled(decision.use, tokens, when);
  }
  return use;
}

describe("a limit says no, and when to come again", () => {
  test.each([
    {
      name: "B123 12 s are left of the minute",
      limits: { requestsPerMinute: 2 },
      use: after(2, {}),
      now: at(48_000),
      says: { limit: "requestsPerMinute", wait: 12_000 },
    },
    {
      name: "0.4 s are left of the minute",
      limits: { tokensPerMinute: 10 },
      use: after(1, {}, { tokens: 10 }),
      now: at(59_600),
      says: { limit: "tokensPerMinute", wait: 400 },
    },
    {
      name: "the day's tokens are used: until midnight",
      limits: { tokensPerDay: 100 },
      use: after(1, {}, { tokens: 100 }),
      now: at(3_600_000),
      says: { limit: "tokensPerDay", wait: 7.5 * 3_600_000 },
    },
    {
      name: "the month's tokens are used: until the first",
      limits: { tokensPerDay: 100, tokensPerMonth: 100 },
      use: after(1, {}, { tokens: 100 }),
      now: at(0),
      says: { limit: "tokensPerMonth", wait: 32.5 * 3_600_000 },
    },
    {
      name: "the longest wait is told",
      limits: { requestsPerMinute: 1, tokensPerDay: 1, concurrency: 0 },
      use: after(1, {}, { tokens: 1 }),
      now: at(0),
      says: { limit: "tokensPerDay" },
    },
    {
      name: "all slots are taken",
      limits: { concurrency: 2 },
      use: { ...UNUSED, inFlight: 2 },
      now: at(0),
      says: { limit: "concurrency", wait: 1_000 },
    },
  ])("$name", ({ limits, use, now, says }) => {
    expect(decideLimits(use, { ...NO_LIMITS, ...limits }, now)).toMatchObject({ kind: "refuse", ...says });
  });

  test.each([
    { name: "the next minute", limits: { requestsPerMinute: 1, tokensPerMinute: 1 }, now: at(60_000) },
    { name: "the next day", limits: { tokensPerDay: 5 }, now: at(8.5 * 3_600_000) },
    { name: "the next month", limits: { tokensPerMonth: 5 }, now: at(32.5 * 3_600_000) },
    { name: "no limit", limits: {}, now: at(0) },
  ])("$name is open again", ({ limits, now }) => {
    const use = after(1, {}, { tokens: 5 });
    expect(decideLimits(use, { ...NO_LIMITS, ...limits }, now).kind).toBe("admit");
  });

  test("the next day is not the next month", () => {
    const use = after(1, {}, { tokens: 5 });
    const now = at(8.5 * 3_600_000);
    expect(current(use, now)).toMatchObject({ dayTokens: 0, monthTokens: 5 });
    expect(decideLimits(use, { ...NO_LIMITS, tokensPerMonth: 5 }, now).kind).toBe("refuse");
  });
});

test("B127 the request that crosses a token limit is answered whole, and the next one is refused", () => {
  const limits = { ...NO_LIMITS, tokensPerMinute: 1_000, concurrency: 10 };
  let use = UNUSED;
  const begin = (now: Moment): boolean => {
    const decision = decideLimits(use, limits, now);
    if (decision.kind === "admit") use = decision.use;
    return decision.kind === "admit";
  };
  const end = (): void => {
    use = settled(use, 300, at(20_000));
  };
  for (let n = 0; n < 10; n++) expect(begin(at(n))).toBe(true);
  end();
  end();
  expect(begin(at(21_000))).toBe(true);
  for (let n = 0; n < 9; n++) end();
  expect(use).toMatchObject({ tokens: 3_300, inFlight: 0 });
  expect(decideLimits(use, limits, at(22_000))).toEqual({ kind: "refuse", limit: "tokensPerMinute", wait: 38_000 });
  expect(begin(at(22_000 + 61_000))).toBe(true);
});

test("whatever comes: never below nothing, never more in flight than allowed, nothing in flight when idle", () => {
  const limit = fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined });
  const limitsOf = fc.record({
    requestsPerMinute: limit,
    tokensPerMinute: limit,
    concurrency: limit,
    tokensPerDay: limit,
    tokensPerMonth: limit,
  });
  const step = fc.record({
    ends: fc.boolean(),
    tokens: fc.integer({ min: 0, max: 4 }),
    later: fc.oneof(fc.integer({ min: 0, max: 40_000 }), fc.constant(86_400_000)),
    /** The wall clock may be set back and forth. */
    step: fc.constantFrom(0, 0, 0, -90_000_000, 90_000_000),
  });
  fc.assert(
    fc.property(limitsOf, fc.array(step, { maxLength: 60 }), (limits, steps) => {
      let use = UNUSED;
      let monotonic = 0;
      let wall = START;
      let running = 0;
      const now = (): Moment => ({ wall: millis(wall), monotonic: millis(monotonic) });
      for (const { ends, tokens, later, step: jump } of steps) {
        monotonic += later;
        wall += later + jump;
        if (ends && running > 0) {
          use = settled(use, tokens, now());
          running -= 1;
        } else if (!ends) {
          const before = current(use, now());
          const decision = decideLimits(use, limits, now());
          if (decision.kind === "admit") {
            use = decision.use;
            running += 1;
            expect(use.requests).toBe(before.requests + 1);
          } else {
            expect(decision.wait).toBeGreaterThanOrEqual(0);
            expect(current(use, now())).toEqual(before);
          }
        }
        expect(use.inFlight).toBe(running);
        expect(running).toBeLessThanOrEqual(limits.concurrency ?? Number.POSITIVE_INFINITY);
        expect(use.requests).toBeLessThanOrEqual(limits.requestsPerMinute ?? Number.POSITIVE_INFINITY);
        for (const count of [use.requests, use.tokens, use.dayTokens, use.monthTokens]) {
          expect(count).toBeGreaterThanOrEqual(0);
        }
      }
      for (; running > 0; running--) use = settled(use, 1, now());
      expect(use.inFlight).toBe(0);
    }),
  );
});
