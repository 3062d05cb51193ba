/** One metric with what it is at present. */
export interface Metric {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  readonly values: readonly Sample[];
}

interface Sample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What a scraper has to be told of the form of the page. */
export const METRICS_CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * The page in Prometheus' text form. Written here because a handful of numbers that are read when they are asked for need
 * none of what a metrics library keeps in memory, 8 MiB of an agent's.
 */
export function metricsPage(metrics: readonly Metric[]): string {
  return metrics.map(section).join("\n");
}

function section({ name, type, help, values }: Metric): string {
  const lines = values.map(({ labels = {}, value }) => `${name}${labelText(labels)} ${String(value)}\n`);
  return `# HELP ${name} ${escape(help)}\n# TYPE ${name} ${type}\n${lines.join("")}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value).replaceAll('"', '\\"')}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escape = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
