import { describe, expect, test } from "vitest";
import { type KeyGrant, NO_LIMITS } from "../../core/client-key.ts";
import { Division } from "./division.ts";

const grant: KeyGrant = {
  id: "k",
  name: "app",
  sha256: "",
  models: [],
  limits: { ...NO_LIMITS, requestsPerMinute: 61, concurrency: 4, tokensPerDay: 100 },
  expiresAt: undefined,
};
const shares = (requestsPerMinute: number, concurrency: number) =>
  [["k", { requestsPerMinute, tokensPerMinute: undefined, concurrency }]] as const;

/** Requests per minute, requests at the same time, and the part of a budget's rest. */
function allowed(division: Division): readonly (number | undefined)[] {
  const { shares: mine, parts } = division.allowance(grant);
  return [mine.requestsPerMinute, mine.concurrency, parts];
}

function shared(routers?: number): Division {
  const division = new Division(routers);
  division.isShared = true;
  return division;
}

describe("what a router may admit", () => {
  test("everything, where limits are not divided", () => {
    expect(allowed(new Division(undefined))).toEqual([61, 4, 1]);
  });

  test("nothing yet, between the first word of the control plane and its shares", () => {
    const division = shared();
    division.connected();
    expect(allowed(division)).toEqual([0, 0, 1]);
  });

  test("an equal part, where it has started and nobody is there to ask", () => {
    expect(allowed(shared(3))).toEqual([20, 1, 3]);
    expect(allowed(shared())).toEqual([30, 2, 2]);
  });

  test("its share; away from the control plane the same, and after the lease an equal part at most", () => {
    const division = shared();
    division.connected();
    expect(division.give(shares(50, 1), { routers: 2, isWhole: true })).toBe("all");
    expect(allowed(division)).toEqual([50, 1, 1]);
    division.disconnected();
    expect(allowed(division)).toEqual([50, 1, 2]);
    division.lapse();
    expect(allowed(division)).toEqual([30, 1, 2]);
    // Back again, it holds what it has told, until it is told otherwise.
    division.connected();
    expect(allowed(division)).toEqual([30, 1, 1]);
    division.give(shares(45, 2), { routers: 2, isWhole: true });
    expect(allowed(division)).toEqual([45, 2, 1]);
  });

  test("never more than the limit is by now", () => {
    const division = shared();
    division.connected();
    division.give(shares(100, 9), { routers: 1, isWhole: true });
    expect(allowed(division)).toEqual([61, 4, 1]);
  });

  test("nothing of a key that it has not been told of; and a whole set makes older shares void", () => {
    const division = shared();
    division.connected();
    division.give(shares(50, 1), { routers: 2, isWhole: true });
    expect(division.give([], { routers: 2, isWhole: false })).toBe("named");
    expect(allowed(division)).toEqual([50, 1, 1]);
    division.give([], { routers: 2, isWhole: true });
    expect(allowed(division)).toEqual([0, 0, 1]);
  });
});
