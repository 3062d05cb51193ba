import { Counter, Gauge, Registry } from "prom-client";
import { VERSION } from "../core/version.ts";
import type { SupervisedState, Supervision } from "../reconcile/supervision.ts";

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
  { name: "llmgw_agent_gpus", type: "gauge", labels: ["state"], help: "GPUs of this node, ready or sick." },
] as const;

type MetricName = (typeof METRICS)[number]["name"];

const STATES: Readonly<Record<SupervisedState["kind"], true>> = {
  preparing: true,
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
}

/** Read when asked for: nothing is counted twice, and an agent at rest does nothing for it. */
export function createMetrics(sources: MetricSources): Registry {
  const registry = new Registry();
  const gauge = (name: MetricName, collect: (gauge: Gauge) => void): void => {
    new Gauge({
      ...definition(name),
      registers: [registry],
      collect() {
        collect(this);
      },
    });
  };
  gauge("llmgw_agent_info", (g) => {
    g.set({ node: sources.nodeId, version: VERSION }, 1);
  });
  gauge("llmgw_agent_connected", (g) => {
    g.set(sources.isConnected() ? 1 : 0);
  });
  gauge("llmgw_agent_replicas", (g) => {
    setStates(g, sources.supervisions());
  });
  gauge("llmgw_agent_replicas_slow", (g) => {
    g.set(sources.supervisions().filter(isSlow).length);
  });
  gauge("llmgw_agent_engine_restarts", (g) => {
    g.set(sources.supervisions().reduce((sum, { launches }) => sum + Math.max(0, launches - 1), 0));
  });
  gauge("llmgw_agent_gpus", (g) => {
    const problems = sources.gpuProblems();
    const sick = problems.filter((problem) => problem !== undefined).length;
    g.set({ state: "ready" }, problems.length - sick);
    g.set({ state: "sick" }, sick);
  });
  new Counter({
    ...definition("llmgw_agent_connections_lost_total"),
    registers: [registry],
    collect() {
      this.reset();
      this.inc(sources.losses());
    },
  });
  return registry;
}

function definition(name: MetricName): { name: string; help: string; labelNames: string[] } {
  const metric = METRICS.find((each) => each.name === name);
  return { name, help: metric?.help ?? "", labelNames: [...(metric?.labels ?? [])] };
}

function setStates(gauge: Gauge, supervisions: readonly Supervision[]): void {
  for (const state of Object.keys(STATES)) {
    gauge.set({ state }, supervisions.filter((each) => each.state.kind === state).length);
  }
}

const isSlow = ({ state }: Supervision): boolean => state.kind === "ready" && state.unanswered > 0;
