// npm run test:sim [-- --seeds N --seed S] [--json]
// Plays N whole clusters in memory, each with the faults and orders that its seed says. With --seeds 1 everything that
// happened is told, and --seed S plays a seed again exactly as it was.
import { parseArgs } from "node:util";
import { playSeeds, type Played } from "./play-seeds.ts";
import { simulate } from "./simulate.ts";
import { summaryOf, tableOf } from "./table.ts";

const { values: flags } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const whole = (name: "seeds" | "seed"): number => {
  const value = Number(flags[name]);
  if (Number.isSafeInteger(value) && value >= 1) return value;
  process.stderr.write(`--${name} takes a whole number from 1 on, not ${flags[name]}\n`);
  process.exit(2);
};

const [count, first] = [whole("seeds"), whole("seed")];
const all: Played[] = [];
const begun = performance.now();
if (count === 1) {
  const played = await simulate(first);
  for (const line of played.trace) say(line);
  all.push(played);
} else {
  const seeds = Array.from({ length: count }, (_, index) => first + index);
  await playSeeds(seeds, (played) => {
    all.push(played);
    const [violation] = played.violations;
    if (violation !== undefined) say(`seed ${String(played.seed)}: ${violation.rule}: ${violation.what}`);
    if (all.length % 100 === 0) say(`${String(all.length)} of ${String(count)} seeds`);
  });
}
const seconds = (performance.now() - begun) / 1000;
say(`\n${tableOf(all, seconds)}`);
if (flags.json) say(JSON.stringify(summaryOf(all, seconds)));
process.exitCode = all.some(({ violations }) => violations.length > 0) ? 1 : 0;
