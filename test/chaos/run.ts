// npm run test:chaos [-- --minutes N --streams N --seed S] [--json]
// Kills and restarts agent and control plane and cuts the network between them, at random, while real streams run. Nothing
// that clients or engines could notice may come of it.
import { parseArgs } from "node:util";
import { realLlamaServer } from "../e2e/real-engine.ts";
import { chaosTable, runChaos } from "./chaos.ts";

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    streams: { type: "string", default: "32" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    json: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const number = (name: "minutes" | "streams" | "seed"): number => {
  const value = Number(flags[name]);
  if (Number.isFinite(value) && value > 0) return value;
  process.stderr.write(`--${name} takes a number above 0, not ${flags[name]}\n`);
  process.exit(2);
};

const [minutes, streams, seed] = [number("minutes"), number("streams"), number("seed")];
say(`${String(minutes)} minutes, ${String(streams)} streams, seed ${String(seed)}`);
const llamaServer = await realLlamaServer();
const result = await runChaos({
  ...{ llamaServer, streams, seed, durationMs: minutes * 60_000, tokensEach: 4000 },
  tell: say,
});
say(`\n${chaosTable(result)}`);
if (flags.json) say(JSON.stringify(result));
process.exitCode = result.faults.length === 0 ? 0 : 1;
