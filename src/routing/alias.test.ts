import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pickTarget } from "./alias.ts";

const alias = {
  targets: [
    { model: "big", weight: 3 },
    { model: "small", weight: 1 },
    { model: "resting", weight: 0 },
  ],
  fallback: ["spare", "last"],
};

describe("who answers for an alias", () => {
  test.each([
    ["the first of the shares", ["big", "small"], 0, "big"],
    ["just before the border", ["big", "small"], 0.749, "big"],
    ["at the border", ["big", "small"], 0.75, "small"],
    ["the last of the shares", ["big", "small"], 0.999, "small"],
    ["a target that cannot answer leaves its share", ["small"], 0, "small"],
    ["a weight of 0 gets nothing, also alone", ["resting", "spare"], 0.5, "spare"],
    ["no target: the first fallback that can", ["last"], 0.5, "last"],
    ["nobody: the target whose turn it is", [], 0.9, "small"],
  ])("%s", (_, able, spread, expected) => {
    expect(pickTarget(alias, (model) => able.includes(model), spread)).toBe(expected);
  });

  test("over many requests each target has its weight's share, exactly", () => {
    const weights = fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(weights, (given) => {
        const sum = given.reduce((all, weight) => all + weight, 0);
        fc.pre(sum > 0);
        const targets = given.map((weight, index) => ({ model: `m${String(index)}`, weight }));
        const counts = new Map<string | undefined, number>();
        for (let at = 0; at < sum * 4; at++) {
          const picked = pickTarget({ targets, fallback: [] }, () => true, (at + 0.5) / (sum * 4));
          counts.set(picked, (counts.get(picked) ?? 0) + 1);
        }
        expect(targets.map(({ model }) => counts.get(model) ?? 0)).toEqual(given.map((weight) => weight * 4));
      }),
    );
  });
});
