import { expect, test } from "vitest";
import { playSeeds, type Played } from "./play-seeds.ts";
import { simulate } from "./simulate.ts";
import { tableOf } from "./table.ts";

async function gathered(seeds: readonly number[]): Promise<readonly Played[]> {
  const all: Played[] = [];
  await playSeeds(seeds, (played) => all.push(played));
  return all;
}

test("200 seeds play without anything that must not be", { timeout: 1_200_000 }, async () => {
  const seeds = Array.from({ length: 200 }, (_, index) => index + 1);
  const begun = performance.now();
  const all = await gathered(seeds);
  const table = tableOf(all, (performance.now() - begun) / 1000);
  console.log(table);
  expect(
    all.flatMap(({ violations }) => violations),
    table,
  ).toEqual([]);
});

test.each([3, 1001, 424_242])("seed %i plays twice in exactly the same way", async (seed) => {
  const [once, again] = [await simulate(seed), await simulate(seed)];
  expect(again.trace).toEqual(once.trace);
  expect(again.hash).toBe(once.hash);
  expect(again.steps).toBe(once.steps);
});

test("a seed plays on another thread as it does here", async () => {
  const [there] = await gathered([5]);
  expect(there?.hash).toBe((await simulate(5)).hash);
});

test("another seed is another story", async () => {
  expect((await simulate(11)).hash).not.toBe((await simulate(12)).hash);
});
