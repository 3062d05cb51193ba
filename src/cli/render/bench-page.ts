import { formatDuration } from "../../core/format.ts";
import type { BenchSummary, Spread } from "../ctl/bench/summary.ts";
import type { Looking } from "./columns.ts";
import { type Column, table } from "./table.ts";
import { cut, oneLine } from "./text.ts";

interface Row {
  readonly what: string;
  readonly spread: Spread;
}

/** Times as a table, then rates, then what failed. */
export function benchPage(summary: BenchSummary, { colours, width }: Looking): string {
  const { model, router, concurrency, done, failed, seconds, failures } = summary;
  const fit = (line: string): string => (width === undefined ? line : cut(line, width));
  const asked = `${String(done + failed)} requests, ${String(concurrency)} at once, ${formatDuration(seconds * 1000)}`;
  const rows: readonly Row[] = [
    { what: "first token", spread: summary.firstTokenMs },
    { what: "per token after it", spread: summary.perTokenMs },
    { what: "whole answer", spread: summary.answerMs },
  ];
  const rates = `${round(summary.requestsPerSecond)} answers/s, ${round(summary.tokensPerSecond)} tokens/s`;
  const tokens = `${String(summary.completionTokens)} tokens of answers, ${String(summary.promptTokens)} of prompts`;
  const told = failures.map(({ code, count, message }) =>
    colours.red(fit(`${String(count)} failed: ${code}: ${oneLine(message)}`)),
  );
  return [
    fit(`${oneLine(model)} through ${router}: ${asked}`),
    "",
    table(COLUMNS, done === 0 ? [] : rows, { width, colours }).trimEnd(),
    "",
    fit(`${rates} (${tokens})`),
    ...told,
    "",
  ].join("\n");
}

const time = (header: string, of: (spread: Spread) => number): Column<Row> => ({
  header,
  cell: ({ spread }) => `${round(of(spread))} ms`,
  right: true,
});

const COLUMNS: readonly Column<Row>[] = [
  { header: "TIME", cell: ({ what }) => what },
  time("P50", ({ p50 }) => p50),
  time("P90", ({ p90 }) => p90),
  time("P99", ({ p99 }) => p99),
  time("MAX", ({ max }) => max),
  time("MEAN", ({ mean }) => mean),
];

/** Three figures are as much as a measurement of this kind can say. */
const round = (n: number): string => (n >= 100 ? n.toFixed(0) : n >= 10 ? n.toFixed(1) : n.toFixed(2));
