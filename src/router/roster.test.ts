import fc from "fast-check";
import { expect, test } from "vitest";
import { type Listed, Roster } from "./roster.ts";

test("whatever comes and goes, it holds what a set would", () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 9 }), { maxLength: 200 }), (turns) => {
      const all: Listed[] = Array.from({ length: 10 }, () => ({ place: -1 }));
      const roster = new Roster();
      const set = new Set<Listed>();
      for (const turn of turns) {
        const one = all[turn] ?? { place: -1 };
        if (set.delete(one)) roster.delete(one);
        else {
          set.add(one);
          roster.add(one);
        }
        expect(roster.all()).toHaveLength(set.size);
        expect(new Set(roster.all())).toEqual(set);
      }
    }),
  );
});

test("taking out what is not in it changes nothing", () => {
  const [inside, outside] = [{ place: -1 }, { place: -1 }];
  const roster = new Roster();
  roster.add(inside);
  roster.delete(outside);
  roster.delete(inside);
  roster.delete(inside);
  expect(roster.all()).toEqual([]);
});
