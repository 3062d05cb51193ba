import { expect, test } from "vitest";
import { METRICS, RouterMetrics } from "./metrics.ts";

test("every number of the list is reported, with its type, and nothing else", async () => {
  const metrics = new RouterMetrics({ models: () => [{ name: "m", inFlight: 2, queued: 1 }] });
  const text = await metrics.text();
  const typed = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name ?? ""} ${type ?? ""}`);
  expect(typed.toSorted()).toEqual(
    Object.values(METRICS)
      .map(({ name, type }) => `${name} ${type}`)
      .toSorted(),
  );
  expect(text).toContain('llmgw_router_in_flight{model="m"} 1');
  expect(text).toContain('llmgw_router_queue_depth{model="m"} 1');
});

test.each(Object.values(METRICS))("$name has a sentence for people", ({ help }) => {
  expect(help).toMatch(/^[A-Z].*\.$/);
});

const FINISHED = {
  model: "m",
  code: 200,
  duration: 0.02,
  firstToken: 0.003,
  perToken: undefined,
  overhead: 2,
  usage: { prompt: 7, cached: 2, completion: 3 },
};

test("what has ended is counted once, however often somebody asks", async () => {
  const metrics = new RouterMetrics({ models: () => [] });
  metrics.finished(FINISHED);
  metrics.finished({ ...FINISHED, duration: 1_000, code: 502 });
  await metrics.text();
  metrics.finished({ ...FINISHED, model: "n" });
  const text = await metrics.text();
  for (const line of [
    'llmgw_router_requests_total{model="m",code="200"} 1',
    'llmgw_router_requests_total{model="m",code="502"} 1',
    'llmgw_router_tokens_total{model="m",kind="prompt"} 14',
    'llmgw_router_tokens_total{model="n",kind="completion"} 3',
    'llmgw_router_request_duration_seconds_bucket{le="0.01",model="m"} 0',
    'llmgw_router_request_duration_seconds_bucket{le="0.025",model="m"} 1',
    'llmgw_router_request_duration_seconds_bucket{le="900",model="m"} 1',
    'llmgw_router_request_duration_seconds_bucket{le="+Inf",model="m"} 2',
    'llmgw_router_request_duration_seconds_sum{model="m"} 1000.02',
    'llmgw_router_request_duration_seconds_count{model="m"} 2',
    'llmgw_router_request_duration_seconds_count{model="n"} 1',
    'llmgw_router_time_to_first_token_seconds_count{model="m"} 2',
  ]) {
    expect(text.split("\n")).toContain(line);
  }
  expect(text).not.toContain("time_per_output_token_seconds_count");
});
