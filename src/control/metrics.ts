import { Counter, Gauge, Registry } from "prom-client";
import { type NodeState, nodeState } from "../core/node.ts";
import { gpusInUse } from "../core/replica-state.ts";
import { nodeViews } from "../scheduler/node-view.ts";
import type { ControlLoop } from "./loop.ts";
import { ROLLOUT_OUTCOMES } from "./rollout-count.ts";
import type { WeightsDesk } from "./weights-desk.ts";

interface MetricSpec {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly labels: readonly string[];
  readonly help: string;
}

/** Every number a control plane reports. The reference page and the registry are made from this list. */
export const METRICS = {
  nodes: { name: "llmgw_nodes", type: "gauge", labels: ["state"], help: "Nodes by state." },
  replicas: {
    name: "llmgw_replicas",
    type: "gauge",
    labels: ["profile", "state"],
    help: "Replicas by profile and state. A state that none is in is left out.",
  },
  gpus: {
    name: "llmgw_gpus",
    type: "gauge",
    labels: ["state"],
    help: "GPUs of all nodes: in_use (booked by a replica), free, or unhealthy.",
  },
  gpuMemory: {
    name: "llmgw_gpu_memory_bytes",
    type: "gauge",
    labels: ["kind"],
    help: "Memory of all GPUs: total, booked by replicas, and used as measured on the nodes.",
  },
  rollouts: {
    name: "llmgw_rollouts_total",
    type: "counter",
    labels: ["outcome"],
    help: "Rollouts that ended since the control plane started, the first of a profile too: ready, replaced by another before it was, or failed.",
  },
  weights: {
    name: "llmgw_weights_bytes_total",
    type: "counter",
    labels: ["source"],
    help: "Bytes of weights that nodes fetched since the control plane started, from the models' sources (origin) and from each other (peer).",
  },
} as const satisfies Record<string, MetricSpec>;

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];

/** Where the numbers are read, each time anew. */
type Source = Pick<ControlLoop, "snapshot" | "rollouts"> & { readonly weights: WeightsDesk["bytes"] };

const SAMPLES: Readonly<Record<keyof typeof METRICS, (source: Source) => readonly Sample[]>> = {
  nodes: ({ snapshot: { nodes } }) => {
    const states: readonly NodeState[] = ["ready", "degraded", "unreachable", "lost"];
    return states.map((state) => [{ state }, nodes.filter((node) => nodeState(node) === state).length]);
  },
  replicas: ({ snapshot: { replicas } }) => {
    const grouped = Map.groupBy(replicas, ({ profile, state }) => `${state.kind} ${profile}`);
    return [...grouped.values()].flatMap(([first, ...rest]): Sample[] =>
      first === undefined ? [] : [[{ profile: first.profile, state: first.state.kind }, 1 + rest.length]],
    );
  },
  gpus: ({ snapshot: { nodes, replicas } }) => {
    const booked = gpusInUse(replicas);
    const states = nodes.flatMap(({ inventory }) =>
      inventory.gpus.map(({ uuid, problem }) =>
        problem !== undefined ? "unhealthy" : booked.has(uuid) ? "in_use" : "free",
      ),
    );
    return ["in_use", "free", "unhealthy"].map((state) => [{ state }, states.filter((one) => one === state).length]);
  },
  gpuMemory: ({ snapshot: { nodes, replicas } }) => {
    const gpus = nodeViews(nodes, replicas).flatMap((view) => view.gpus);
    const sum = (of: (gpu: (typeof gpus)[number]) => number): number => gpus.reduce((all, gpu) => all + of(gpu), 0);
    return [
      [{ kind: "total" }, sum(({ gpu }) => gpu.memoryTotal)],
      [{ kind: "booked" }, sum(({ booked }) => booked)],
      [{ kind: "used" }, sum(({ gpu }) => gpu.memoryTotal - gpu.memoryFree)],
    ];
  },
  weights: ({ weights }) => [
    [{ source: "origin" }, weights.origin],
    [{ source: "peer" }, weights.peer],
  ],
  rollouts: ({ rollouts }) => ROLLOUT_OUTCOMES.map((outcome) => [{ outcome }, rollouts[outcome]]),
};

/** The page of the control plane's own numbers, as they are when it is asked for. */
export function controlMetrics(
  loop: Pick<ControlLoop, "snapshot" | "rollouts">,
  weights: Pick<WeightsDesk, "bytes">,
): Registry {
  const registry = new Registry();
  const now = (): Source => ({ snapshot: loop.snapshot, rollouts: loop.rollouts, weights: weights.bytes });
  for (const key of Object.keys(METRICS) as (keyof typeof METRICS)[]) {
    const { name, help, labels, type } = METRICS[key];
    const about = { name, help, labelNames: [...labels], registers: [registry] };
    const samples = (): readonly Sample[] => SAMPLES[key](now());
    if (type === "counter") addCounter(about, samples);
    else addGauge(about, samples);
  }
  return registry;
}

interface About {
  readonly name: string;
  readonly help: string;
  readonly labelNames: string[];
  readonly registers: Registry[];
}

const addGauge = (about: About, samples: () => readonly Sample[]) =>
  new Gauge({
    ...about,
    collect() {
      this.reset();
      for (const [values, value] of samples()) this.set({ ...values }, value);
    },
  });

const addCounter = (about: About, samples: () => readonly Sample[]) =>
  new Counter({
    ...about,
    collect() {
      // What is counted is the source's: nothing is counted here a second time.
      this.reset();
      for (const [values, value] of samples()) this.inc({ ...values }, value);
    },
  });
