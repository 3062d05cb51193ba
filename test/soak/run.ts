// npm run test:soak [-- --minutes N --streams N --engines N --pace MS --restart SECONDS --seed S] [--json]
// Many paced streams through the real router, control plane and agent, while clients leave at random and engines are killed.
// Afterwards nothing may be held, and every request must be counted. The engines stand in for real ones: a machine that
// computed so many streams would have nothing left to route them.
import { parseArgs } from "node:util";
import { runSoak, type SoakResult } from "./soak.ts";

const { values: flags } = parseArgs({
  options: {
    minutes: { type: "string", default: "10" },
    streams: { type: "string", default: "2000" },
    engines: { type: "string", default: "3" },
    pace: { type: "string", default: "500" },
    restart: { type: "string", default: "60" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    json: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const number = (name: Exclude<keyof typeof flags, "json">): number => {
  const value = Number(flags[name]);
  if (Number.isFinite(value) && value > 0) return value;
  process.stderr.write(`--${name} takes a number above 0, not ${flags[name]}\n`);
  process.exit(2);
};

function tableOf({ counts, asked, events, restarts, samples, targets, faults, seed }: SoakResult): string {
  const mib = (bytes = NaN): string => `${(bytes / 1024 / 1024).toFixed(0)} MiB`;
  const [first, middle, last] = [samples[0], samples[samples.length >> 1], samples.at(-1)];
  const rows = Object.entries(targets).map(
    ([name, { value, target, ok }]) =>
      `${name.padEnd(50)}${String(value).padStart(10)}${String(target).padStart(10)}  ${ok ? "ok" : "MISSED"}`,
  );
  return [
    `requests ${String(asked)}: ${JSON.stringify(counts)}; events read ${String(events)}, engines killed ${String(restarts)}`,
    `most streams open at once ${String(Math.max(...samples.map(({ open }) => open)))}`,
    `router's memory, first, middle, last: ${mib(first?.router)}, ${mib(middle?.router)}, ${mib(last?.router)}`,
    `control plane's: ${mib(first?.server)}, ${mib(middle?.server)}, ${mib(last?.server)}`,
    "",
    `${"".padEnd(50)}${"value".padStart(10)}${"target".padStart(10)}`,
    ...rows,
    ...faults,
    `seed ${String(seed)}`,
  ].join("\n");
}

const [minutes, streams, seed] = [number("minutes"), number("streams"), number("seed")];
say(`${String(minutes)} minutes, ${String(streams)} streams, seed ${String(seed)}`);
const result = await runSoak({
  ...{ streams, seed, durationMs: minutes * 60_000, engines: number("engines"), pace: number("pace") },
  ...{ restartEveryMs: number("restart") * 1000, tell: say },
});
say(`\n${tableOf(result)}`);
if (flags.json) say(JSON.stringify({ ...result, samples: undefined }));
process.exitCode = Object.values(result.targets).every(({ ok }) => ok) ? 0 : 1;
