// npm run test:fuzz [-- --seconds N --seed S --target NAME --case N] [--json]
// Gives random and mutated input to everything that takes any from outside, for N seconds each. A case that is told of can be
// seen again: --target NAME --seed S --case N.
import { parseArgs } from "node:util";
import { fuzz, type FuzzResult, fuzzTable } from "./fuzz.ts";
import { TARGETS } from "./targets.ts";

const { values: flags } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    target: { type: "string" },
    case: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const fail = (words: string): never => {
  process.stderr.write(`${words}\n`);
  process.exit(2);
};
const number = (name: "seconds" | "seed" | "case"): number => {
  const value = Number(flags[name]);
  return Number.isFinite(value) && value >= 0
    ? value
    : fail(`--${name} takes a number from 0 on, not ${String(flags[name])}`);
};

const [seconds, seed] = [number("seconds"), number("seed")];
const only = flags.case === undefined ? {} : { only: number("case") };
const names = TARGETS.map(({ name }) => name).join(", ");
const chosen = TARGETS.filter(({ name }) => flags.target === undefined || name === flags.target);
if (chosen.length === 0) fail(`there is no target ${String(flags.target)}; there are: ${names}`);

say(`${String(seconds)} seconds each, seed ${String(seed)}`);
const results: FuzzResult[] = [];
for (const target of chosen) {
  say(`${target.name} …`);
  results.push(await fuzz({ target, seed, durationMs: seconds * 1000, ...only }));
}
say(`\n${fuzzTable(results)}`);
if (flags.json) say(JSON.stringify(results));
process.exitCode = results.every(({ faults }) => faults.length === 0) ? 0 : 1;
