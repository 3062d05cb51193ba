import { median } from "../../test/quantile.ts";
import { textTable } from "../../test/text-table.ts";
import {
  cpuPerEvent,
  cpuPerRequest,
  isEvents,
  medianRatio,
  type Sample,
  type Samples,
  type Target,
} from "./targets.ts";
import { type ContenderName, REQUESTS, type Scenario, STREAMS } from "./scenarios.ts";

/** With an empty line after it. */
export function printTable(rows: readonly (readonly string[])[]): void {
  console.log(`${textTable(rows)}\n`);
}

const micros = (n: number): string => (n >= 10_000 ? `${(n / 1000).toFixed(1)} ms` : `${n.toFixed(0)} µs`);
const times = (n: number): string => (Number.isNaN(n) ? "" : `${n.toFixed(2)} ×`);

/** One load: who took what, and how that is to HAProxy's. */
export function printScenario(scenario: Scenario, samples: Samples): void {
  const all = samples.get(scenario.name) ?? new Map<ContenderName, readonly Sample[]>();
  const unit = isEvents(scenario) ? "event" : "request";
  const cpu = isEvents(scenario) ? cpuPerEvent : cpuPerRequest;
  const time = isEvents(scenario) ? eventTimes : requestTimes;
  const to = all.get("haproxy") ?? [];
  const rows = [...all].map(([name, rounds]) => [
    name,
    name === "direct" ? "" : `${median(rounds.map(cpu)).toFixed(1)} µs`,
    name === "direct" ? "" : times(medianRatio(rounds.map(cpu), to.map(cpu))),
    ...time(rounds, to),
    median(rounds.map(({ perSecond }) => perSecond)).toFixed(0),
    String(rounds.reduce((sum, { failures }) => sum + failures, 0)),
  ]);
  const head = [
    scenario.name,
    `CPU a ${unit}`,
    "× HAProxy",
    `${unit} p50`,
    "p99",
    "× HAProxy",
    "first byte",
    "requests/s",
    "failed",
  ];
  printTable([head, ...rows]);
}

const of = (rounds: readonly Sample[], pick: (sample: Sample) => number): string => micros(median(rounds.map(pick)));

const requestTimes = (rounds: readonly Sample[], to: readonly Sample[]): readonly string[] => [
  of(rounds, ({ p50 }) => p50),
  of(rounds, ({ p99 }) => p99),
  times(
    medianRatio(
      rounds.map(({ p99 }) => p99),
      to.map(({ p99 }) => p99),
    ),
  ),
  of(rounds, ({ firstByteP50 }) => firstByteP50),
];

const eventTimes = (rounds: readonly Sample[], to: readonly Sample[]): readonly string[] => [
  of(rounds, ({ eventP50 }) => eventP50),
  of(rounds, ({ eventP99 }) => eventP99),
  times(
    medianRatio(
      rounds.map(({ eventP99 }) => eventP99),
      to.map(({ eventP99 }) => eventP99),
    ),
  ),
  of(rounds, ({ firstByteP50 }) => firstByteP50),
];

interface Feature {
  readonly name: string;
  readonly without: ContenderName;
  readonly scenario: string;
}

const FEATURES: readonly Feature[] = [
  { name: "keys and limits", without: "llmgw (no keys, no limits)", scenario: REQUESTS },
  { name: "prefix affinity", without: "llmgw (no prefix affinity)", scenario: REQUESTS },
  { name: "access log", without: "llmgw (no access log)", scenario: REQUESTS },
  { name: "counts asked of streams, and hidden again", without: "llmgw (streams not counted)", scenario: STREAMS },
  { name: "what rescue keeps of a stream", without: "llmgw (no rescue)", scenario: STREAMS },
];

/** What the router would save by going without each. */
export function printFeatures(samples: Samples): void {
  const rows = FEATURES.flatMap(({ name, without, scenario }) => {
    const cpu = scenario === STREAMS ? cpuPerEvent : cpuPerRequest;
    const whole = samples.get(scenario)?.get("llmgw") ?? [];
    const less = samples.get(scenario)?.get(without) ?? [];
    if (less.length === 0) return [];
    const saved = median(
      whole.map((sample, round) => cpu(sample) - (less[round] === undefined ? NaN : cpu(less[round]))),
    );
    return [[name, `${saved.toFixed(1)} µs`, scenario === STREAMS ? "event" : "request"]];
  });
  printTable([["what a feature costs", "CPU", "a"], ...rows]);
}

export function printTargets(targets: Readonly<Record<string, Target>>): void {
  const rows = Object.entries(targets).map(([name, { value, target, ok, skipped }]) => [
    ok ? "ok" : value === undefined ? "skipped" : "missed",
    value === undefined ? "–" : value.toFixed(2),
    String(target),
    name,
    skipped ?? "",
  ]);
  printTable([["", "value", "target", "", ""], ...rows]);
}
