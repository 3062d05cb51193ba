import { expect, test } from "vitest";
import { RouterMetrics } from "../metrics.ts";
import { lastingSum, type MetricsJson, sumText } from "./sum-metrics.ts";

const worker = async (requests: number, inFlight: number): Promise<MetricsJson> => {
  const metrics = new RouterMetrics({ models: () => [{ name: "m", inFlight, queued: 0 }] });
  for (let n = 0; n < requests; n++) {
    const times = { firstToken: undefined, perToken: undefined, overhead: 0.001 };
    metrics.finished({
      model: "m",
      code: 200,
      duration: 0.2,
      ...times,
      usage: { prompt: 3, cached: 1, completion: 2 },
    });
  }
  return metrics.json();
};

test("counters, histograms and what is in flight are summed", async () => {
  const text = await sumText([await worker(2, 1), await worker(3, 4)]);
  expect(text).toContain('llmgw_router_requests_total{model="m",code="200"} 5\n');
  expect(text).toContain('llmgw_router_request_duration_seconds_count{model="m"} 5\n');
  expect(text).toContain('llmgw_router_request_duration_seconds_bucket{le="0.25",model="m"} 5\n');
  expect(text).toContain('llmgw_router_in_flight{model="m"} 5\n');
});

test("of a worker that is gone the counts stay, and nothing is in flight", async () => {
  const past = await lastingSum([await lastingSum([await worker(2, 1)]), await worker(1, 1)]);
  const text = await sumText([past, await worker(1, 1)]);
  expect(text).toContain('llmgw_router_requests_total{model="m",code="200"} 4\n');
  expect(text).toContain('llmgw_router_in_flight{model="m"} 1\n');
});
