import { median } from "../../test/quantile.ts";
import type { Measured } from "../load.ts";
import { ALONE, type ContenderName, KB_64, LARGE, MB_1, REQUESTS, type Scenario, STREAMS } from "./scenarios.ts";

/** One round of one contender under one load. */
export interface Sample extends Measured {
  /** Of its processes, in microseconds; 0 for the engine itself. */
  readonly cpu: number;
}

/** By scenario and contender, one sample a round. */
export type Samples = ReadonlyMap<string, ReadonlyMap<ContenderName, readonly Sample[]>>;

export interface Target {
  /** Undefined: it could not be measured. */
  readonly value: number | undefined;
  readonly target: number;
  readonly ok: boolean;
  /** Why it is undefined. */
  readonly skipped?: string;
}

type Metric = (sample: Sample) => number;
export const cpuPerRequest: Metric = ({ cpu, requests }) => cpu / requests;
export const cpuPerEvent: Metric = ({ cpu, events }) => cpu / events;
const p50: Metric = (sample) => sample.p50;
const p99: Metric = (sample) => sample.p99;
const eventP99: Metric = (sample) => sample.eventP99;

interface Ratio {
  readonly scenario: string;
  readonly metric: Metric;
  readonly of: ContenderName;
  readonly to: ContenderName;
  /** Where the other one's load is another. */
  readonly toScenario?: string;
  readonly target: number;
  readonly isAtLeast?: boolean;
}

const OURS = { of: "llmgw", to: "haproxy" } as const;

/** The floors; what is aimed at is HAProxy's own figure. */
const RATIOS: Readonly<Record<string, Ratio>> = {
  "request CPU, of HAProxy's": { ...OURS, scenario: REQUESTS, metric: cpuPerRequest, target: 2.4 },
  "request p99, of HAProxy's": { ...OURS, scenario: REQUESTS, metric: p99, target: 2.2 },
  "request CPU with 32 KB, of HAProxy's": { ...OURS, scenario: LARGE, metric: cpuPerRequest, target: 1.6 },
  "event CPU, of HAProxy's": { ...OURS, scenario: STREAMS, metric: cpuPerEvent, target: 1.7 },
  "event p99, of HAProxy's": { ...OURS, scenario: STREAMS, metric: eventP99, target: 2.4 },
  "one connection's p50, of HAProxy's": { ...OURS, scenario: ALONE, metric: p50, target: 1.3 },
  "one connection's p99, of HAProxy's": { ...OURS, scenario: ALONE, metric: p99, target: 2.5 },
  "Portkey's request CPU, of ours": {
    ...{ of: "portkey", to: "llmgw", scenario: REQUESTS },
    ...{ metric: cpuPerRequest, target: 25, isAtLeast: true },
  },
  "LiteLLM's request CPU, of ours": {
    ...{ of: "litellm", to: "llmgw", scenario: REQUESTS },
    ...{ metric: cpuPerRequest, target: 40, isAtLeast: true },
  },
  "request CPU of 2 workers, of one's": {
    ...{ of: "llmgw (2 workers)", to: "llmgw", scenario: REQUESTS },
    ...{ metric: cpuPerRequest, target: 1.15 },
  },
  "request CPU with 1000 replicas and 10000 keys, of that with 3 and 10": {
    ...{ of: "llmgw (1000 replicas, 10000 keys)", to: "llmgw", scenario: REQUESTS },
    ...{ metric: cpuPerRequest, target: 1.2 },
  },
  "request CPU of a 1 MB prompt, of a 64 KB one's": {
    ...{ of: "llmgw", to: "llmgw", scenario: MB_1, toScenario: KB_64 },
    ...{ metric: cpuPerRequest, target: 12 },
  },
};

/** `why`: of contenders that could not be started. */
export function ratioTargets(
  samples: Samples,
  why: ReadonlyMap<ContenderName, string>,
): Readonly<Record<string, Target>> {
  const entries = Object.entries(RATIOS).map(([name, ratio]) => [name, judge(ratio, samples, why)] as const);
  return Object.fromEntries(entries);
}

function judge(ratio: Ratio, samples: Samples, why: ReadonlyMap<ContenderName, string>): Target {
  const { scenario, toScenario = scenario, of, to, metric, target } = ratio;
  const ours = samples.get(scenario)?.get(of);
  const theirs = samples.get(toScenario)?.get(to);
  if (ours === undefined || theirs === undefined) {
    return { value: undefined, target, ok: false, skipped: why.get(of) ?? why.get(to) ?? "not measured in this run" };
  }
  const value = medianRatio(ours.map(metric), theirs.map(metric));
  const hasFailed = [...ours, ...theirs].some(({ failures }) => failures > 0);
  return { value, target, ok: !hasFailed && isReached(value, ratio) };
}

const isReached = (value: number, { target, isAtLeast = false }: Ratio): boolean =>
  isAtLeast ? value >= target : value <= target;

/** Within each round first: what the machine does besides changes from one to the next. */
export const medianRatio = (ours: readonly number[], theirs: readonly number[]): number =>
  median(ours.map((one, round) => one / (theirs[round] ?? NaN)));

export const isEvents = ({ name }: Scenario): boolean => name === STREAMS;
