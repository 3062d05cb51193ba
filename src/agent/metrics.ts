import { VERSION } from "../core/version.ts";
import type { SupervisedState, Supervision } from "../reconcile/supervision.ts";
import { type Metric, metricsPage } from "./metrics-page.ts";

/** Everything that an agent's /metrics shows; the reference page is made from it. */
export const METRICS = [
  {
    name: "llmgw_agent_info",
    type: "gauge",
    labels: ["node", "version"],
    help: "1, with this agent's node and version.",
  },
  { name: "llmgw_agent_connected", type: "gauge", labels: [], help: "1 while a control plane has accepted this node." },
  {
    name: "llmgw_agent_connections_lost_total",
    type: "counter",
    labels: [],
    help: "Streams to a control plane that ended, or were refused, without this agent wanting it.",
  },
  {
    name: "llmgw_agent_replicas",
    type: "gauge",
    labels: ["state"],
    help: "Replicas on this node by what is done with them.",
  },
  {
    name: "llmgw_agent_replicas_slow",
    type: "gauge",
    labels: [],
    help: "Ready replicas whose last health request had no answer.",
  },
  {
    name: "llmgw_agent_engine_restarts",
    type: "gauge",
    labels: [],
    help: "Engine processes started after the first one, over the replicas that are on this node now.",
  },
  {
    name: "llmgw_agent_weights_bytes_total",
    type: "counter",
    labels: ["source"],
    help: "Bytes of weights that came to this node since its agent started, from the models' sources (origin) and from other nodes (peer).",
  },
  { name: "llmgw_agent_gpus", type: "gauge", labels: ["state"], help: "GPUs of this node, ready or sick." },
] as const;

type MetricName = (typeof METRICS)[number]["name"];

const STATES: Readonly<Record<SupervisedState["kind"], true>> = {
  preparing: true,
  waiting: true,
  launching: true,
  abandoning: true,
  starting: true,
  ready: true,
  stopping: true,
  backoff: true,
  stopped: true,
  failed: true,
};

export interface MetricSources {
  readonly nodeId: string;
  readonly isConnected: () => boolean;
  readonly losses: () => number;
  readonly supervisions: () => readonly Supervision[];
  readonly gpuProblems: () => readonly (string | undefined)[];
  readonly weightsBytes: () => { readonly origin: number; readonly peer: number };
}

/** The page as it is now: nothing is counted twice, and an agent at rest does nothing for it. */
export function agentMetrics(sources: MetricSources): string {
  const supervisions = sources.supervisions();
  const inState = (state: string): number => supervisions.filter((each) => each.state.kind === state).length;
  const problems = sources.gpuProblems();
  const sick = problems.filter((problem) => problem !== undefined).length;
  const values: Readonly<Record<MetricName, Metric["values"]>> = {
    llmgw_agent_info: [{ labels: { node: sources.nodeId, version: VERSION }, value: 1 }],
    llmgw_agent_connected: [{ value: sources.isConnected() ? 1 : 0 }],
    llmgw_agent_connections_lost_total: [{ value: sources.losses() }],
    llmgw_agent_replicas: Object.keys(STATES).map((state) => ({ labels: { state }, value: inState(state) })),
    llmgw_agent_replicas_slow: [{ value: supervisions.filter(isSlow).length }],
    llmgw_agent_engine_restarts: [
      { value: supervisions.reduce((sum, { launches }) => sum + Math.max(0, launches - 1), 0) },
    ],
    llmgw_agent_weights_bytes_total: Object.entries(sources.weightsBytes()).map(([source, value]) => ({
      labels: { source },
      value,
    })),
    llmgw_agent_gpus: [
      { labels: { state: "ready" }, value: problems.length - sick },
      { labels: { state: "sick" }, value: sick },
    ],
  };
  return metricsPage(METRICS.map(({ name, type, help }) => ({ name, type, help, values: values[name] })));
}

const isSlow = ({ state }: Supervision): boolean => state.kind === "ready" && state.unanswered > 0;
