import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../e2e/wait.ts";
import { BLOWS, drawBlow } from "./blows.ts";
import { seededRandom } from "./chance.ts";
import { PROFILE, Site } from "./site.ts";
import { Streams } from "./streams.ts";

export interface ChaosOptions {
  /** A real llama-server. */
  readonly llamaServer: string;
  readonly streams: number;
  readonly durationMs: number;
  readonly seed: number;
  /** Tokens of one stream: enough that most streams live through several blows. */
  readonly tokensEach: number;
  /** Called with one line for each blow. */
  readonly tell?: (line: string) => void;
}

export interface ChaosResult {
  readonly seed: number;
  readonly streams: { readonly whole: number; readonly tokens: number; readonly refused: number };
  /** How often each harm was done, and the longest time until everything was whole again, ms. */
  readonly blows: Readonly<Record<string, { readonly times: number; readonly slowestMs: number }>>;
  readonly engines: readonly number[];
  /** Streams that had begun when a blow fell, summed over all blows. */
  readonly struck: number;
  readonly faults: readonly string[];
}

/** More engines than one, so that each has to be found again among others. */
const ENGINES = 2;

/** Runs streams and does harm to everything but the engines and the router, then says what came of it. */
export async function runChaos(options: ChaosOptions): Promise<ChaosResult> {
  const site = await Site.start(options.llamaServer);
  try {
    return await harm(site, options);
  } finally {
    await site.stop();
  }
}

async function harm(site: Site, options: ChaosOptions): Promise<ChaosResult> {
  const { streams: places, tokensEach, seed, tell } = options;
  await site.apply({
    ...{ name: PROFILE, model: { source: "tiny:" }, replicas: ENGINES },
    // A slot for every stream, whichever engine they fall on, with room for the prompt and the whole answer.
    context: places * (tokensEach + 64),
    args: ["-np", String(places), "-t", "1"],
  });
  const engines = await allReady(site);
  await until("a route", async () => (await fetch(`${site.routerUrl}/readyz`)).ok);
  const streams = new Streams({ url: site.routerUrl, streams: places, tokensEach });
  await until("every stream's first token", () => streams.running === places || streams.counts.whole > 0);
  const watch = new Watch(site, engines);
  const random = seededRandom(seed);
  const ms = (least: number, most: number): number => least + random() * (most - least);
  const blows: Record<string, { times: number; slowestMs: number }> = {};
  let struck = 0;
  const end = performance.now() + options.durationMs;
  while (performance.now() < end) {
    await sleep(ms(300, 3000));
    const blow = drawBlow(random);
    const at = performance.now();
    struck += streams.running;
    await blow.strike(site, ms);
    // Half of the blows fall on a site that is not whole again yet.
    if (random() < 0.5) await allReady(site);
    const before = blows[blow.name] ?? { times: 0, slowestMs: 0 };
    const took = performance.now() - at;
    blows[blow.name] = { times: before.times + 1, slowestMs: Math.max(before.slowestMs, took) };
    tell?.(
      `${blow.name.padEnd(31)} ${(took / 1000).toFixed(1).padStart(5)} s   ${String(streams.running)} streams running, ${String(streams.counts.whole)} whole, ${String(streams.counts.cut.length)} cut`,
    );
  }
  await allReady(site);
  await streams.finish();
  const { cut, ...counts } = streams.counts;
  const faults = [...cut.map((how) => `a stream was cut: ${how}`), ...(await watch.finish())];
  return { seed, streams: counts, blows, engines, struck, faults };
}

/** The pids of the engines, once each is ready and reported so. */
async function allReady(site: Site): Promise<readonly number[]> {
  const ready = await until(
    "every replica to be ready",
    async () => {
      const replicas = await site.replicas();
      const failed = replicas.find(({ state }) => state === "failed");
      if (failed !== undefined) throw new Error(`failed: ${failed.reason ?? ""}`);
      return replicas.length === ENGINES && replicas.every(({ state }) => state === "ready") ? replicas : undefined;
    },
    { timeoutMs: 120_000, seen: () => site.output() },
  );
  return ready.map(({ pid = 0 }) => pid).toSorted((a, b) => a - b);
}

/** Looks all the time at which engine processes there are; they must be the same ones throughout. */
class Watch {
  readonly #site: Site;
  readonly #wanted: string;
  readonly #faults = new Set<string>();
  readonly #stopping = new AbortController();
  readonly #looking: Promise<void>;

  constructor(site: Site, engines: readonly number[]) {
    this.#site = site;
    this.#wanted = engines.join(", ");
    this.#looking = this.#look();
  }

  async finish(): Promise<readonly string[]> {
    this.#stopping.abort();
    await this.#looking;
    const replicas = await this.#site.replicas();
    const restarted = replicas.filter(({ restarts = 0 }) => restarts > 0);
    const reported = replicas
      .map(({ pid = 0 }) => pid)
      .toSorted((a, b) => a - b)
      .join(", ");
    return [
      ...this.#faults,
      ...restarted.map(({ id, restarts }) => `replica ${id} was restarted ${String(restarts)} times`),
      ...(reported === this.#wanted ? [] : [`the engines are reported as ${reported} instead of ${this.#wanted}`]),
    ];
  }

  async #look(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const found = (await this.#site.engines())
        .map(({ pid }) => pid)
        .toSorted((a, b) => a - b)
        .join(", ");
      if (found !== this.#wanted) this.#faults.add(`engine processes ${found} instead of ${this.#wanted}`);
      await sleep(250);
    }
  }
}

/** For people: what was done and what came of it. */
export function chaosTable(result: ChaosResult): string {
  const rows = BLOWS.flatMap(({ name }) => {
    const done = result.blows[name];
    return done === undefined ? [] : [[name, String(done.times), `${(done.slowestMs / 1000).toFixed(1)} s`]];
  });
  const lines = [["harm", "times", "slowest"], ...rows].map(
    ([name = "", times = "", slowest = ""]) => `${name.padEnd(32)}${times.padStart(5)}  ${slowest.padStart(8)}`,
  );
  const { whole, tokens, refused } = result.streams;
  const cut = result.faults.filter((fault) => fault.startsWith("a stream was cut")).length;
  return [
    ...lines,
    "",
    `streams whole ${String(whole)} (${String(tokens)} tokens), running when harm was done ${String(result.struck)}, cut ${String(cut)}`,
    `refused before their first token while no route was known ${String(refused)}`,
    `engines ${result.engines.join(", ")}: the same from beginning to end, ${result.faults.length === cut ? "never restarted, never doubled" : "but for the faults below"}`,
    ...result.faults,
    `seed ${String(result.seed)}`,
  ].join("\n");
}
