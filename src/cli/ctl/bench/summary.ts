import type { ErrorCode } from "../../../core/errors.ts";

/** One request as its client saw it; times in milliseconds. */
export type Measured =
  | {
      readonly kind: "answered";
      /** From the request to the first piece of the answer. */
      readonly firstTokenMs: number;
      readonly answerMs: number;
      readonly promptTokens: number;
      readonly completionTokens: number;
    }
  | { readonly kind: "failed"; readonly code: ErrorCode; readonly message: string };

export interface Spread {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
  readonly mean: number;
}

export interface BenchSummary {
  readonly model: string;
  readonly router: string;
  readonly concurrency: number;
  readonly done: number;
  readonly failed: number;
  readonly seconds: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly requestsPerSecond: number;
  /** Of answers. */
  readonly tokensPerSecond: number;
  readonly firstTokenMs: Spread;
  /** Between the tokens of one answer, the first left out. */
  readonly perTokenMs: Spread;
  readonly answerMs: Spread;
  readonly failures: readonly { readonly code: string; readonly count: number; readonly message: string }[];
}

type Load = Pick<BenchSummary, "model" | "router" | "concurrency" | "seconds">;

/** What a load came to. */
export function summarise(load: Load, measured: readonly Measured[]): BenchSummary {
  const answered = measured.filter((one) => one.kind === "answered");
  const failed = measured.filter((one) => one.kind === "failed");
  const completionTokens = sum(answered.map((one) => one.completionTokens));
  const perSecond = (n: number): number => (load.seconds > 0 ? n / load.seconds : 0);
  const perToken = answered
    .filter((one) => one.completionTokens > 1)
    .map((one) => (one.answerMs - one.firstTokenMs) / (one.completionTokens - 1));
  return {
    ...load,
    done: answered.length,
    failed: failed.length,
    promptTokens: sum(answered.map((one) => one.promptTokens)),
    completionTokens,
    requestsPerSecond: perSecond(answered.length),
    tokensPerSecond: perSecond(completionTokens),
    firstTokenMs: spread(answered.map((one) => one.firstTokenMs)),
    perTokenMs: spread(perToken),
    answerMs: spread(answered.map((one) => one.answerMs)),
    failures: [...Map.groupBy(failed, ({ code }) => code)].map(([code, all]) => ({
      code: code.toLowerCase(),
      count: all.length,
      message: all[0]?.message ?? "",
    })),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);

/** Each percentile is a value that was measured: the smallest that so many of a hundred do not exceed. */
function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (percent: number): number => sorted[Math.max(0, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
  const mean = sorted.length === 0 ? 0 : sum(sorted) / sorted.length;
  return { p50: at(50), p90: at(90), p99: at(99), max: at(100), mean };
}
