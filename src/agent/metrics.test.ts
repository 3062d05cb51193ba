import { expect, test } from "vitest";
import { millis } from "../core/ids.ts";
import { newSupervision, type Supervision } from "../reconcile/supervision.ts";
import { agentMetrics, METRICS } from "./metrics.ts";

const process = { pid: 42, startTicks: 777 };
const endpoint = { host: "127.0.0.1", port: 41_000 };
const ready = (unanswered: number): Supervision => ({
  ...newSupervision,
  launches: 3,
  state: { kind: "ready", process, endpoint, capacity: { slots: 1, context: 1 }, since: millis(0), unanswered },
});

const page = agentMetrics({
  nodeId: "gpu-a-01",
  isConnected: () => true,
  losses: () => 4,
  supervisions: () => [ready(0), ready(2), newSupervision],
  gpuProblems: () => [undefined, "lost"],
  weightsBytes: () => ({ origin: 7, peer: 21 }),
});

test("says how the node is", () => {
  expect(page).toContain('llmgw_agent_replicas{state="ready"} 2');
  expect(page).toContain('llmgw_agent_replicas{state="preparing"} 1');
  expect(page).toContain('llmgw_agent_replicas{state="failed"} 0');
  expect(page).toContain("llmgw_agent_replicas_slow 1");
  expect(page).toContain("llmgw_agent_engine_restarts 4");
  expect(page).toContain("llmgw_agent_connected 1");
  expect(page).toContain("llmgw_agent_connections_lost_total 4");
  expect(page).toContain('llmgw_agent_gpus{state="sick"} 1');
  expect(page).toContain('llmgw_agent_weights_bytes_total{source="peer"} 21');
});

test("every metric that is listed is there, and no other", () => {
  const types = [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => ({ name, type }));
  const listed = METRICS.map(({ name, type }) => ({ name, type }));
  expect(types).toHaveLength(listed.length);
  expect(types).toEqual(expect.arrayContaining(listed));
});
