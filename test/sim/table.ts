import type { Played } from "./play-seeds.ts";

/** What all seeds together came to. */
export interface Summary {
  readonly seeds: number;
  readonly steps: number;
  readonly seconds: number;
  /** Simulated seconds from the end of all faults until everything was as wanted. */
  readonly settled: { readonly median: number; readonly slowest: number };
  readonly failures: readonly { readonly seed: number; readonly rule: string; readonly what: string }[];
}

export function summaryOf(all: readonly Played[], seconds: number): Summary {
  const settled = all.flatMap(({ settledAfter }) => settledAfter ?? []).toSorted((a, b) => a - b);
  const failures = all.flatMap(({ seed, violations: [violation] }) =>
    violation === undefined ? [] : [{ seed, rule: violation.rule, what: violation.what }],
  );
  return {
    seeds: all.length,
    steps: all.reduce((sum, { steps }) => sum + steps, 0),
    seconds: Math.round(seconds * 10) / 10,
    settled: {
      median: (settled[Math.floor(settled.length / 2)] ?? 0) / 1000,
      slowest: (settled.at(-1) ?? 0) / 1000,
    },
    failures: failures.toSorted((a, b) => a.seed - b.seed),
  };
}

export function tableOf(all: readonly Played[], seconds: number): string {
  const { seeds, steps, settled, failures } = summaryOf(all, seconds);
  const rows = [
    ["seeds", String(seeds)],
    ["steps, each with every check", String(steps)],
    [
      "as wanted after the last fault",
      `${String(settled.median)} s at half of them, ${String(settled.slowest)} s at most`,
    ],
    ["took", `${seconds.toFixed(1)} s`],
    ["failed", String(failures.length)],
  ] as const;
  const told = failures.map(
    ({ seed, rule, what }) =>
      `seed ${String(seed)}: ${rule}: ${what}\n  npm run test:sim -- --seeds 1 --seed ${String(seed)}`,
  );
  return [...rows.map(([name, value]) => `${name.padEnd(32)}${value}`), ...told].join("\n");
}
