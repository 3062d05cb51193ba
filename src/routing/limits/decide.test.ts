import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type KeyLimits, NO_LIMITS } from "../../core/client-key.ts";
import { millis } from "../../core/ids.ts";
import { dayOf, monthOf } from "../../core/usage.ts";
import { alone, decideLimits } from "./decide.ts";
import { KeyUse, type Moment } from "./use.ts";

/** Half past three on the last but one day of a month. */
const START = Date.UTC(2026, 3, 29, 15, 30);
const at = (ms: number): Moment => ({ wall: millis(START + ms), monotonic: millis(1_000 + ms) });
const allowing = (limits: Partial<KeyLimits>) => alone({ ...NO_LIMITS, ...limits });

/** So many requests one after the other, each ended at once. */
function after(count: number, tokens = 0, when = at(0)): KeyUse {
  const use = new KeyUse();
  for (let n = 0; n < count; n++) {
    use.begin(when);
    use.settle(tokens, when);
  }
  return use;
}

function inFlight(count: number): KeyUse {
  const use = new KeyUse();
  for (let n = 0; n < count; n++) use.begin(at(0));
  return use;
}

describe("a limit says no, and when to come again", () => {
  test.each([
    {
      name: "B123 12 s are left of the minute",
      limits: { requestsPerMinute: 2 },
      use: after(2),
      now: at(48_000),
      says: { limit: "requestsPerMinute", wait: 12_000 },
    },
    {
      name: "0.4 s are left of the minute",
      limits: { tokensPerMinute: 10 },
      use: after(1, 10),
      now: at(59_600),
      says: { limit: "tokensPerMinute", wait: 400 },
    },
    {
      name: "the day's tokens are used: until midnight",
      limits: { tokensPerDay: 100 },
      use: after(1, 100),
      now: at(3_600_000),
      says: { limit: "tokensPerDay", wait: 7.5 * 3_600_000 },
    },
    {
      name: "the month's tokens are used: until the first",
      limits: { tokensPerDay: 100, tokensPerMonth: 100 },
      use: after(1, 100),
      now: at(0),
      says: { limit: "tokensPerMonth", wait: 32.5 * 3_600_000 },
    },
    {
      name: "the longest wait is told",
      limits: { requestsPerMinute: 1, tokensPerDay: 1, concurrency: 0 },
      use: after(1, 1),
      now: at(0),
      says: { limit: "tokensPerDay" },
    },
    {
      name: "all slots are taken",
      limits: { concurrency: 2 },
      use: inFlight(2),
      now: at(0),
      says: { limit: "concurrency", wait: 1_000 },
    },
  ])("$name", ({ limits, use, now, says }) => {
    expect(decideLimits(use, allowing(limits), now)).toMatchObject({ kind: "refuse", shared: false, ...says });
  });

  test.each([
    { name: "the next minute", limits: { requestsPerMinute: 1, tokensPerMinute: 1 }, now: at(60_000) },
    { name: "the next day", limits: { tokensPerDay: 5 }, now: at(8.5 * 3_600_000) },
    { name: "the next month", limits: { tokensPerMonth: 5 }, now: at(32.5 * 3_600_000) },
    { name: "no limit", limits: {}, now: at(0) },
  ])("$name is open again", ({ limits, now }) => {
    expect(decideLimits(after(1, 5), allowing(limits), now).kind).toBe("admit");
  });

  test("the next day is not the next month", () => {
    const use = after(1, 5);
    const now = at(8.5 * 3_600_000);
    expect([use.budget.ofDay(now.wall), use.budget.ofMonth(now.wall)]).toEqual([
      [0, 0],
      [0, 5],
    ]);
    expect(decideLimits(use, allowing({ tokensPerMonth: 5 }), now).kind).toBe("refuse");
  });
});

describe("with other routers", () => {
  const limits = { ...NO_LIMITS, requestsPerMinute: 10, concurrency: 4, tokensPerDay: 100 };

  test("a router's own share is all it may admit, and others may have more", () => {
    const allowance = { limits, shares: { ...limits, requestsPerMinute: 3 }, parts: 1 };
    expect(decideLimits(after(2), allowance, at(0)).kind).toBe("admit");
    expect(decideLimits(after(3), allowance, at(0))).toEqual({
      kind: "refuse",
      limit: "requestsPerMinute",
      wait: 1_000,
      shared: true,
    });
  });

  test("a share of nothing admits nothing", () => {
    const allowance = { limits, shares: { ...limits, concurrency: 0 }, parts: 1 };
    expect(decideLimits(new KeyUse(), allowance, at(0))).toMatchObject({ limit: "concurrency", shared: true });
  });

  test("what others have used of a budget counts", () => {
    const use = after(1, 5);
    const { wall } = at(0);
    use.budget.setTotal({ day: dayOf(wall), dayTokens: 95, month: monthOf(wall), monthTokens: 95 });
    expect(decideLimits(use, alone(limits), at(0))).toMatchObject({ limit: "tokensPerDay", shared: false });
  });

  test("a router that hears nothing takes its part of what is left", () => {
    const use = after(1, 19);
    const { wall } = at(0);
    use.budget.setTotal({ day: dayOf(wall), dayTokens: 60, month: monthOf(wall), monthTokens: 60 });
    expect(decideLimits(use, { limits, shares: limits, parts: 2 }, at(0)).kind).toBe("admit");
    use.begin(at(0));
    use.settle(1, at(0));
    expect(decideLimits(use, { limits, shares: limits, parts: 2 }, at(0)).kind).toBe("refuse");
    expect(decideLimits(use, alone(limits), at(0)).kind).toBe("admit");
  });
});

test("B127 the request that crosses a token limit is answered whole, and the next one is refused", () => {
  const allowance = allowing({ tokensPerMinute: 1_000, concurrency: 10 });
  const use = new KeyUse();
  const begin = (now: Moment): boolean => {
    const isAdmitted = decideLimits(use, allowance, now).kind === "admit";
    if (isAdmitted) use.begin(now);
    return isAdmitted;
  };
  const end = (): void => {
    use.settle(300, at(20_000));
  };
  for (let n = 0; n < 10; n++) expect(begin(at(n))).toBe(true);
  end();
  end();
  expect(begin(at(21_000))).toBe(true);
  for (let n = 0; n < 9; n++) end();
  expect([use.minute.tokens(millis(22_000)), use.inFlight]).toEqual([3_300, 0]);
  const refused = decideLimits(use, allowance, at(22_000));
  expect(refused).toEqual({ kind: "refuse", limit: "tokensPerMinute", wait: 58_000, shared: false });
  expect(begin(at(22_000 + 61_000))).toBe(true);
});

test("whatever comes: never more in flight than allowed, no minute with more requests, nothing in flight when idle", () => {
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
      const use = new KeyUse();
      const begun: number[] = [];
      let monotonic = 0;
      let wall = START;
      let running = 0;
      const now = (): Moment => ({ wall: millis(wall), monotonic: millis(monotonic) });
      for (const { ends, tokens, later, step: jump } of steps) {
        monotonic += later;
        wall += later + jump;
        if (ends && running > 0) {
          use.settle(tokens, now());
          running -= 1;
        } else if (!ends) {
          const decision = decideLimits(use, alone(limits), now());
          if (decision.kind === "admit") {
            use.begin(now());
            begun.push(monotonic);
            running += 1;
          } else expect(decision.wait).toBeGreaterThanOrEqual(0);
        }
        expect(use.inFlight).toBe(running);
        expect(running).toBeLessThanOrEqual(limits.concurrency ?? Infinity);
        const lastMinute = begun.filter((start) => monotonic - start < 60_000).length;
        expect(lastMinute).toBeLessThanOrEqual(limits.requestsPerMinute ?? Infinity);
        for (const count of [...use.budget.ofDay(millis(wall)), ...use.budget.ofMonth(millis(wall))]) {
          expect(count).toBeGreaterThanOrEqual(0);
        }
      }
      for (; running > 0; running--) use.settle(1, now());
      expect(use.inFlight).toBe(0);
    }),
  );
});
