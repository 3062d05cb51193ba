import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { afterConnection, jitteredDelay, STABLE_CONNECTION } from "./backoff.ts";

const policy = { base: millis(1000), max: millis(30_000) };
const most = (): number => 1;
const least = (): number => 0;

describe("jitteredDelay", () => {
  test.each([
    { attempt: 1, ceiling: 1000 },
    { attempt: 2, ceiling: 2000 },
    { attempt: 5, ceiling: 16_000 },
    { attempt: 6, ceiling: 30_000 },
    { attempt: 5000, ceiling: 30_000 },
  ])("try $attempt waits up to $ceiling ms", ({ attempt, ceiling }) => {
    expect(jitteredDelay(attempt, policy, most)).toBe(ceiling);
    expect(jitteredDelay(attempt, policy, least)).toBe(0);
  });
});

describe("afterConnection", () => {
  const dropped = { heldFor: millis(100), refused: false };

  test("B43 delays grow across connections that do not hold", () => {
    let losses = 0;
    const delays = Array.from({ length: 20 }, () => {
      const next = afterConnection(losses, dropped, { policy, random: most });
      losses = next.losses;
      return next.delay;
    });
    expect(delays.slice(0, 6)).toEqual([2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(delays.at(-1)).toBe(30_000);
  });

  test("B43 the first delay after a loss is random already, and a stable connection begins a new count", () => {
    const stable = { heldFor: STABLE_CONNECTION, refused: false };
    expect(afterConnection(7, stable, { policy, random: least })).toEqual({ losses: 1, delay: 1000 });
    expect(afterConnection(7, stable, { policy, random: () => 0.5 })).toEqual({ losses: 1, delay: 1500 });
    expect(afterConnection(7, { ...stable, heldFor: millis(59_999) }, { policy, random: least }).losses).toBe(8);
  });

  test("a refusal is repeated at the longest interval", () => {
    expect(afterConnection(0, { heldFor: millis(0), refused: true }, { policy, random: least }).delay).toBe(30_000);
  });

  test("is always between base and max", () => {
    fc.assert(
      fc.property(fc.nat(200), fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(120_000), (losses, roll, heldFor) => {
        const end = { heldFor: millis(heldFor), refused: false };
        const { delay } = afterConnection(losses, end, { policy, random: () => roll });
        expect(delay).toBeGreaterThanOrEqual(policy.base);
        expect(delay).toBeLessThanOrEqual(policy.max);
      }),
    );
  });

  test("a base above the maximum does not turn the wait around", () => {
    const odd = { base: millis(60_000), max: millis(1000) };
    expect(afterConnection(3, dropped, { policy: odd, random: most }).delay).toBe(60_000);
  });
});
