import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom } from "../chaos/chance.ts";
import { until } from "../e2e/wait.ts";
import { median } from "../quantile.ts";
import { type Logged, type Replica, SoakSite } from "./site.ts";
import { PacedStreams } from "./streams.ts";

export interface SoakOptions {
  readonly streams: number;
  readonly durationMs: number;
  readonly engines: number;
  /** Milliseconds between two events of a stream. */
  readonly pace: number;
  readonly restartEveryMs: number;
  readonly seed: number;
  /** Called with one line now and then. */
  readonly tell: (line: string) => void;
}

interface Sample {
  readonly atMs: number;
  readonly router: number;
  readonly server: number;
  readonly open: number;
  readonly files: number;
}

interface Target {
  readonly value: number | undefined;
  readonly target: number;
  readonly ok: boolean;
}

export interface SoakResult {
  readonly seed: number;
  readonly counts: PacedStreams["counts"];
  readonly asked: number;
  readonly events: number;
  readonly restarts: number;
  readonly samples: readonly Sample[];
  readonly targets: Readonly<Record<string, Target>>;
  readonly faults: readonly string[];
}

/** So often a request is tried: one that takes every engine down with it must end. */
const ATTEMPTS = 3;
const SAMPLE_MS = 5_000;
const MIB = 1024 * 1024;
/** Resident memory that a heap may still take on while it finds its size. */
const FLAT = 1.2;
/** A shorter run is over before the heaps have found their size. */
const JUDGED_FROM_MS = 180_000;

/** Keeps streams open through restarts of engines and clients who leave, and adds up afterwards whether anything is missing. */
export async function runSoak(options: SoakOptions): Promise<SoakResult> {
  const site = await SoakSite.start(options);
  try {
    return await soak(site, options);
  } finally {
    await site.stop();
  }
}

async function soak(site: SoakSite, options: SoakOptions): Promise<SoakResult> {
  const { streams: places, pace, durationMs, restartEveryMs, seed, tell } = options;
  const random = seededRandom(seed);
  const countedBefore = await site.metric("llmgw_router_requests_total");
  const streams = new PacedStreams({ port: site.routerPort, key: site.key, streams: places, pace, random });
  const samples: Sample[] = [];
  const from = performance.now();
  let restarts = 0;
  let restarting: Promise<void> = Promise.resolve();
  let nextRestart = restartEveryMs / 2;
  while (performance.now() - from < durationMs) {
    await sleep(SAMPLE_MS);
    const atMs = performance.now() - from;
    samples.push(await sampleOf(site, { atMs, open: streams.open }));
    if (atMs < nextRestart) continue;
    nextRestart += restartEveryMs;
    restarts += 1;
    tell(lineOf(samples.at(-1), streams));
    await restarting;
    restarting = restartOne(site, random);
  }
  await restarting;
  await streams.finish();
  const targets = { ...(await accounted(site, streams, countedBefore)), ...flatness(samples, durationMs) };
  const faults = [...streams.faults].map(([words, times]) => `${String(times)} × ${words}`);
  const { counts, asked, events } = streams;
  return { seed, counts, asked: asked.length, events, restarts, samples, targets, faults };
}

async function sampleOf(site: SoakSite, more: Pick<Sample, "atMs" | "open">): Promise<Sample> {
  const [router, server] = await Promise.all([site.sizeOf("router"), site.sizeOf("server")]);
  return { ...more, router: router.bytes, server: server.bytes, files: router.files };
}

function lineOf(sample: Sample | undefined, { counts, open }: PacedStreams): string {
  const { atMs = 0, router = 0, server = 0 } = sample ?? {};
  const memory = `router ${(router / MIB).toFixed(0)} MiB, control plane ${(server / MIB).toFixed(0)} MiB`;
  return `${(atMs / 1000).toFixed(0).padStart(4)} s  ${String(open)} open, ${JSON.stringify(counts)}, ${memory}`;
}

/** Kills an engine without warning, and waits until its agent has another in its place. */
async function restartOne(site: SoakSite, random: () => number): Promise<void> {
  const ready = await site.ready();
  const victim = ready[Math.floor(random() * ready.length)];
  if (victim?.pid === undefined) return;
  process.kill(victim.pid, "SIGKILL");
  const isBack = ({ id, pid, state }: Replica): boolean =>
    id === victim.id && state === "ready" && pid !== undefined && pid !== victim.pid;
  await until("the engine to be back", async () => (await site.replicas()).some(isBack), { timeoutMs: 120_000 });
}

/** Every request is in the log once, in the numbers once, and in the usage once if an engine saw it; and nothing is held any more. */
async function accounted(
  site: SoakSite,
  streams: PacedStreams,
  countedBefore: number,
): Promise<Readonly<Record<string, Target>>> {
  const nothing = async (name: string): Promise<number> => settled(() => site.metric(name), 0);
  const inFlight = await nothing("llmgw_router_in_flight");
  const queued = await nothing("llmgw_router_queue_depth");
  const logged = await untilLogged(site, streams.asked);
  const served = await site.metric("llmgw_router_overhead_seconds_count");
  const usage = await settled(() => site.usage(), served);
  const atEngines = await settled(() => workAt(site), 0);
  const missing = streams.asked.filter((id) => !logged.has(id)).length;
  const lines = [...logged.values()];
  const twice = lines.filter(({ times }) => times > 1).length;
  const early = lines.filter(({ code, attempts }) => code >= 500 && attempts < ATTEMPTS).length;
  const counted = (await site.metric("llmgw_router_requests_total")) - countedBefore;
  return {
    "requests in flight at the end": equal(inFlight, 0),
    "requests queued at the end": equal(queued, 0),
    "requests at engines at the end": equal(atEngines, 0),
    "requests without a line in the access log": equal(missing, 0),
    "requests with two lines": equal(twice, 0),
    "requests counted": equal(counted, streams.asked.length),
    "usage records of requests that an engine saw": equal(usage, served),
    "requests that failed before their third engine did": equal(early, 0),
    "requests refused": equal(streams.counts.refused + streams.counts.unreachable, 0),
  };
}

/** The access log once every request is in it, or as it still is after a while: its lines wait for each other. */
async function untilLogged(site: SoakSite, asked: readonly string[]): Promise<ReadonlyMap<string, Logged>> {
  let logged: ReadonlyMap<string, Logged> = new Map();
  const missing = async (): Promise<number> => {
    logged = await site.logged();
    return asked.filter((id) => !logged.has(id)).length;
  };
  await settled(missing, 0);
  return logged;
}

const equal = (value: number, target: number): Target => ({ value, target, ok: value === target });

/** The value once it is what is wanted, or what it still is after a while. */
async function settled(read: () => Promise<number>, wanted: number): Promise<number> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const value = await read();
    if (value === wanted || performance.now() > deadline) return value;
    await sleep(200);
  }
}

/** Streams that engines still write, as they say themselves. */
async function workAt(site: SoakSite): Promise<number> {
  const pages = (await site.ready()).map(async ({ endpoint }) => {
    const page = await (await fetch(`http://127.0.0.1:${String(endpoint?.port)}/metrics`)).text();
    return Number(/^llamacpp:requests_processing (\d+)$/m.exec(page)?.[1]);
  });
  return (await Promise.all(pages)).reduce((sum, one) => sum + one, 0);
}

/** Of the last quarter against the second: in the first one the heaps grow to what the load needs. */
function flatness(samples: readonly Sample[], durationMs: number): Readonly<Record<string, Target>> {
  if (durationMs < JUDGED_FROM_MS) return {};
  const growth = (of: (sample: Sample) => number): Target => {
    const quarter = Math.floor(samples.length / 4);
    const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)].map((part) =>
      median(part.map(of)),
    );
    const value = (late ?? NaN) / (early ?? NaN);
    return { value: Number(value.toFixed(3)), target: FLAT, ok: value <= FLAT };
  };
  return {
    "router's memory, last quarter of second": growth(({ router }) => router),
    "control plane's memory, last quarter of second": growth(({ server }) => server),
  };
}
