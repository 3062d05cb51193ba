import type { Histogram } from "prom-client";

interface Of {
  readonly name: string;
  readonly help: string;
  /** Upper bounds, rising. */
  readonly buckets: readonly number[];
}

/** What was observed of one model. */
class Observed {
  /** By bucket, each without those below it; the last one is for what is above all bounds. */
  readonly counts: number[];
  sum = 0;

  constructor(buckets: number) {
    this.counts = new Array<number>(buckets + 1).fill(0);
  }
}

interface Value {
  readonly metricName: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * A histogram with the one label `model`, as a registry of prom-client takes it. Its own would make the name of a series anew
 * from the labels for each value, which costs as much as choosing a replica.
 */
export class ModelHistogram {
  readonly name: string;
  readonly help: string;
  readonly type = "histogram";
  readonly aggregator = "sum";
  readonly #bounds: readonly number[];
  readonly #models = new Map<string, Observed>();

  constructor({ name, help, buckets }: Of) {
    this.name = name;
    this.help = help;
    this.#bounds = buckets;
  }

  observe(model: string, value: number): void {
    let observed = this.#models.get(model);
    if (observed === undefined) {
      observed = new Observed(this.#bounds.length);
      this.#models.set(model, observed);
    }
    let bucket = 0;
    while (bucket < this.#bounds.length && value > (this.#bounds[bucket] ?? 0)) bucket += 1;
    observed.counts[bucket] = (observed.counts[bucket] ?? 0) + 1;
    observed.sum += value;
  }

  /** What a registry asks for. */
  get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    const values = [...this.#models].flatMap(([model, observed]) => this.#valuesOf(model, observed));
    return Promise.resolve({ name, help, type, aggregator, values });
  }

  /** For a registry, which is typed for the library's own. */
  asMetric(): Histogram {
    return this as unknown as Histogram;
  }

  #valuesOf(model: string, { counts, sum }: Observed): readonly Value[] {
    let below = 0;
    const buckets = counts.map((count, at) => {
      below += count;
      return { metricName: `${this.name}_bucket`, labels: { le: this.#bounds[at] ?? "+Inf", model }, value: below };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels: { model }, value: sum },
      { metricName: `${this.name}_count`, labels: { model }, value: below },
    ];
  }
}
