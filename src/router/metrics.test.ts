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
