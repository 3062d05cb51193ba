import { AggregatorRegistry } from "prom-client";

/** As a registry gives them: what may cross to another process. */
export type MetricsJson = readonly object[];

/** What all workers have counted together, in Prometheus' exposition text. */
export const sumText = (all: readonly MetricsJson[]): Promise<string> => summed(all).metrics();

/** What goes on counting when a worker is gone: everything but what is only true at a moment. */
export async function lastingSum(all: readonly MetricsJson[]): Promise<MetricsJson> {
  const metrics: readonly object[] = await summed(all).getMetricsAsJSON();
  return metrics.filter((metric) => !("type" in metric) || metric.type !== "gauge");
}

const summed = (all: readonly MetricsJson[]) => AggregatorRegistry.aggregate(all.map((one) => [...one]));
