import { Counter, Gauge, Registry } from "prom-client";
import type { TokenUse } from "../core/usage.ts";
import { ModelHistogram } from "./model-histogram.ts";

interface MetricSpec {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  readonly help: string;
  /** Upper bounds in seconds. */
  readonly buckets?: readonly number[];
}

const SECONDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900];
const TOKEN_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 2.5];
const OVERHEAD_SECONDS = [
  0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 1,
];

/** Every number a router reports. The reference page and the registry are made from this list. */
export const METRICS = {
  requests: {
    name: "llmgw_router_requests_total",
    type: "counter",
    labels: ["model", "code"],
    help: "Requests by model and outcome. A stream that broke counts as 502 or 504 although its status line said 200; 499: the client left.",
  },
  inFlight: {
    name: "llmgw_router_in_flight",
    type: "gauge",
    labels: ["model"],
    help: "Requests being worked on, without those that wait for a slot.",
  },
  queueDepth: {
    name: "llmgw_router_queue_depth",
    type: "gauge",
    labels: ["model"],
    help: "Requests that wait in the router for a slot of an engine.",
  },
  firstToken: {
    name: "llmgw_router_time_to_first_token_seconds",
    type: "histogram",
    labels: ["model"],
    help: "From the request's first byte to the first data event of its stream.",
    buckets: SECONDS,
  },
  perToken: {
    name: "llmgw_router_time_per_output_token_seconds",
    type: "histogram",
    labels: ["model"],
    help: "Mean time between the tokens of a stream, after the first.",
    buckets: TOKEN_SECONDS,
  },
  duration: {
    name: "llmgw_router_request_duration_seconds",
    type: "histogram",
    labels: ["model"],
    help: "From the request's first byte to the answer's last.",
    buckets: SECONDS,
  },
  overhead: {
    name: "llmgw_router_overhead_seconds",
    type: "histogram",
    labels: ["model"],
    help: "From the request's last byte to its handing over to an engine's connection.",
    buckets: OVERHEAD_SECONDS,
  },
  tokens: {
    name: "llmgw_router_tokens_total",
    type: "counter",
    labels: ["model", "kind"],
    help: "Tokens as the engines count them; of answers that were cut off, as they are estimated. kind: prompt (cached ones included), cached, completion.",
  },
  retries: {
    name: "llmgw_router_retries_total",
    type: "counter",
    labels: ["reason"],
    help: "Attempts that were followed by another, by what went wrong.",
  },
  streamsCut: {
    name: "llmgw_router_streams_cut_total",
    type: "counter",
    labels: ["reason"],
    help: "Answers that began and did not end well. reason: client_gone, broke, idleTimeout, truncated, engine_error.",
  },
} as const satisfies Readonly<Record<string, MetricSpec>>;

/** The label of requests whose model nobody serves: what clients make up must not become label values. */
export const UNKNOWN_MODEL = "unknown";

/** Where gauges are read from when somebody asks. */
export interface Gauges {
  /** `inFlight` includes those that are queued. */
  models(): Iterable<{ readonly name: string; readonly inFlight: number; readonly queued: number }>;
}

interface Finished {
  readonly model: string;
  readonly code: number;
  /** All in seconds; undefined where it did not come to that. */
  readonly duration: number;
  readonly firstToken: number | undefined;
  readonly perToken: number | undefined;
  readonly overhead: number | undefined;
  readonly usage: Pick<TokenUse, "prompt" | "cached" | "completion">;
}

export class RouterMetrics {
  readonly registry = new Registry();
  readonly #requests = this.#sums(METRICS.requests);
  readonly #tokens = this.#sums(METRICS.tokens);
  readonly #retries = this.#counter(METRICS.retries);
  readonly #streamsCut = this.#counter(METRICS.streamsCut);
  readonly #firstToken = this.#histogram(METRICS.firstToken);
  readonly #perToken = this.#histogram(METRICS.perToken);
  readonly #duration = this.#histogram(METRICS.duration);
  readonly #overhead = this.#histogram(METRICS.overhead);

  constructor(gauges: Gauges) {
    this.#gauge(METRICS.inFlight, () =>
      [...gauges.models()].map(({ name, inFlight, queued }) => [name, inFlight - queued]),
    );
    this.#gauge(METRICS.queueDepth, () => [...gauges.models()].map(({ name, queued }) => [name, queued]));
  }

  finished({ model, code, duration, firstToken, perToken, overhead, usage }: Finished): void {
    this.#requests.add(model, String(code), 1);
    this.#duration.observe(model, duration);
    if (firstToken !== undefined) this.#firstToken.observe(model, firstToken);
    if (perToken !== undefined) this.#perToken.observe(model, perToken);
    if (overhead !== undefined) this.#overhead.observe(model, overhead);
    if (usage.prompt === 0 && usage.completion === 0) return;
    this.#tokens.add(model, "prompt", usage.prompt);
    this.#tokens.add(model, "cached", usage.cached);
    this.#tokens.add(model, "completion", usage.completion);
  }

  /** Before it was known what for. */
  turnedAway(code: number): void {
    this.#requests.add(UNKNOWN_MODEL, String(code), 1);
  }

  retried(reason: string): void {
    this.#retries.inc({ reason });
  }

  cut(reason: string): void {
    this.#streamsCut.inc({ reason });
  }

  /** The exposition text; its content type is the registry's. */
  text(): Promise<string> {
    return this.registry.metrics();
  }

  /** The same as values, to be summed with those of other processes. */
  json(): Promise<readonly object[]> {
    return this.registry.getMetricsAsJSON();
  }

  #counter<L extends string>({ name, help, labels }: MetricSpec & { readonly labels: readonly L[] }): Counter<L> {
    return new Counter({ name, help, labelNames: [...labels], registers: [this.registry] });
  }

  /** By model and one more label: summed here, and counted when somebody asks. */
  #sums({
    name,
    help,
    labels: [model, other],
  }: MetricSpec & { readonly labels: readonly [string, string] }): ModelSums {
    const sums = new ModelSums();
    new Counter({
      name,
      help,
      labelNames: [model, other],
      registers: [this.registry],
      collect() {
        for (const [its, value, sum] of sums.take()) this.inc({ [model]: its, [other]: value }, sum);
      },
    });
    return sums;
  }

  #histogram(spec: MetricSpec & { readonly buckets: readonly number[] }): ModelHistogram {
    const histogram = new ModelHistogram(spec);
    this.registry.registerMetric(histogram.asMetric());
    return histogram;
  }

  #gauge({ name, help }: MetricSpec, read: () => readonly (readonly [string, number])[]): void {
    new Gauge({
      name,
      help,
      labelNames: ["model"],
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [model, value] of read()) this.set({ model }, value);
      },
    });
  }
}

/** What has been added since it was last taken. */
class ModelSums {
  #models = new Map<string, Map<string, number>>();

  add(model: string, value: string, amount: number): void {
    let sums = this.#models.get(model);
    if (sums === undefined) {
      sums = new Map();
      this.#models.set(model, sums);
    }
    sums.set(value, (sums.get(value) ?? 0) + amount);
  }

  take(): readonly (readonly [model: string, value: string, sum: number])[] {
    const taken = [...this.#models].flatMap(([model, sums]) =>
      [...sums].map(([value, sum]) => [model, value, sum] as const),
    );
    this.#models = new Map();
    return taken;
  }
}
