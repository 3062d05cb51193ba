import { expect, test } from "vitest";
import { fuzz } from "../fuzz/fuzz.ts";
import { TARGETS } from "../fuzz/targets.ts";

const seed = Math.floor(Math.random() * 2 ** 31);

// A taste of `npm run test:fuzz`, with another seed each time.
test.each(TARGETS.map((target) => ({ target, name: target.name })))(
  "random and mutated input leaves standing: $name",
  async ({ target }) => {
    const { faults, cases } = await fuzz({ target, seed, durationMs: 1_000 });
    const again = `npm run test:fuzz -- --target "${target.name}" --seed ${String(seed)}`;
    expect(faults, `seen again with: ${again}`).toEqual([]);
    expect(cases).toBeGreaterThan(0);
  },
);
