import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ROUTING_POLICIES } from "./policies.ts";

interface Load {
  readonly name: string;
  readonly inFlight: number;
  readonly lastPicked: number;
}

const load = fc.record({ name: fc.string(), inFlight: fc.nat({ max: 50 }), lastPicked: fc.nat({ max: 9 }) });
const loads = fc
  .array(load, { minLength: 1, maxLength: 8 })
  .map(([first, ...rest]) => [first, ...rest] as [Load, ...Load[]]);

describe.each(Object.entries(ROUTING_POLICIES))("%s", (_name, definition) => {
  const policy = definition.build({});

  test("answers one of the candidates, whatever chance says", () => {
    fc.assert(
      fc.property(loads, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (candidates, roll) => {
        expect(candidates).toContain(policy.pick(candidates, () => roll));
      }),
    );
  });

  test("prefers an idle replica to a busy one", () => {
    const idle = { inFlight: 0, lastPicked: 9 };
    expect(policy.pick([{ inFlight: 40, lastPicked: 1 }, idle], () => 0.5)).toBe(idle);
  });

  test("refuses params that it does not know", () => {
    expect(() => definition.build({ wieght: 2 })).toThrow(/wieght/);
  });

  test("has a sentence for people", () => {
    expect(definition.doc).toMatch(/^[A-Z].*\.$/);
  });
});

describe("least-in-flight", () => {
  const policy = ROUTING_POLICIES["least-in-flight"].build({});

  test("B115 equals take turns: ten requests one after another go five and five", () => {
    const a = { name: "a", inFlight: 0, lastPicked: 0 };
    const b = { name: "b", inFlight: 0, lastPicked: 0 };
    const picks = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((turn) => {
      const picked = policy.pick([a, b], () => 0);
      picked.lastPicked = turn;
      return picked.name;
    });
    expect(picks.filter((name) => name === "a")).toHaveLength(5);
  });

  test.each([
    { roll: 0, want: 2 },
    { roll: 0.4, want: 1 },
    { roll: 0.9, want: 0 },
  ])("among replicas that were never picked chance decides: $roll", ({ roll, want }) => {
    const fresh: [Load, ...Load[]] = [
      { name: "a", inFlight: 0, lastPicked: 0 },
      { name: "b", inFlight: 0, lastPicked: 0 },
      { name: "c", inFlight: 0, lastPicked: 0 },
    ];
    expect(policy.pick(fresh, () => roll)).toBe(fresh[want]);
  });
});
