import { createRouterTransport } from "@connectrpc/connect";
import { pino } from "pino";
import type { KeyGrant, KeySet } from "../../src/core/client-key.ts";
import type { EngineApi } from "../../src/core/engine-api.ts";
import { millis, profileName, replicaId } from "../../src/core/ids.ts";
import type { AliasRoute, ModelRoute, RouteTable } from "../../src/core/route.ts";
import { type RunningRouter, type RouterOptions, startRouter } from "../../src/run/router.ts";
import { type RouterReport, RouterService } from "../../src/wire/gen/llmgw/v1/router_pb.js";
import type { UsageBatch } from "../../src/wire/gen/llmgw/v1/usage_pb.js";
import { keySetToWire } from "../../src/wire/keys.ts";
import { routeChanges } from "../../src/wire/route-changes.ts";
import { routeTableToWire } from "../../src/wire/routes.ts";
import { recordOfLine } from "../../src/wire/usage-line.ts";
import { until } from "../e2e/wait.ts";
import { json, RawUpstream, type Script } from "./raw-upstream.ts";

/** A control plane of one method: hands out tables, keeps the reports. */
export class RouteSource {
  readonly reports: RouterReport[] = [];
  sessions = 0;
  /** What differs from the last table of a session, instead of all of it. */
  tellsChanges = false;
  #table: RouteTable | undefined;
  #keys: KeySet | undefined;
  readonly #acks: { readonly instance: string; readonly through: bigint; readonly totals: [] }[] = [];
  #wakers = new Set<() => void>();
  #cut = new AbortController();

  push(table: RouteTable): void {
    this.#table = table;
    for (const wake of this.#wakers) wake();
  }

  pushKeys(keys: readonly KeyGrant[]): void {
    this.#keys = { revision: (this.#keys?.revision ?? 0) + 1, keys };
    for (const wake of this.#wakers) wake();
  }

  /** Ends all sessions, as a control plane does that is killed. */
  cut(): void {
    this.#cut.abort();
    this.#cut = new AbortController();
    for (const wake of this.#wakers) wake();
  }

  transport() {
    return createRouterTransport(({ service }) => {
      service(RouterService, { session: (requests) => this.#session(requests) });
    });
  }

  async *#session(
    requests: AsyncIterable<{ readonly body: { readonly case: string | undefined; readonly value?: unknown } }>,
  ) {
    this.sessions += 1;
    const { signal } = this.#cut;
    void this.#collect(requests).catch(() => undefined);
    let sent: RouteTable | undefined;
    let sentKeys: KeySet | undefined;
    while (!signal.aborted) {
      const ack = this.#acks.shift();
      if (ack !== undefined) {
        yield { body: { case: "usageAck" as const, value: ack } };
        continue;
      }
      if (this.#keys !== undefined && this.#keys !== sentKeys) {
        sentKeys = this.#keys;
        yield { body: { case: "keys" as const, value: keySetToWire(sentKeys) } };
        continue;
      }
      if (this.#table !== undefined && this.#table !== sent) {
        const before = sent;
        sent = this.#table;
        if (this.tellsChanges && before !== undefined) {
          yield { body: { case: "changes" as const, value: routeChanges(before, sent) } };
        } else yield { body: { case: "table" as const, value: routeTableToWire(sent) } };
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#wakers.add(resolve);
      });
    }
    throw new Error("the control plane was killed");
  }

  async #collect(
    requests: AsyncIterable<{ readonly body: { readonly case: string | undefined; readonly value?: unknown } }>,
  ): Promise<void> {
    for await (const { body } of requests) {
      if (body.case === "report") this.reports.push(body.value as RouterReport);
      else if (body.case === "usage") this.#keep(body.value as UsageBatch);
    }
  }

  /** Whatever is counted is kept for good, at once. */
  #keep({ instance, lines }: UsageBatch): void {
    const numbers = lines.split("\n").map((line) => recordOfLine(line)?.number ?? 0);
    this.#acks.push({ instance, through: BigInt(Math.max(...numbers)), totals: [] });
    for (const wake of this.#wakers) wake();
  }
}

export type LogLine = Readonly<Record<string, unknown>>;

/** A real router on a free port, in front of engines that say what a test wants. */
export class RouterHarness {
  readonly source: RouteSource;
  readonly router: RunningRouter;
  readonly logs: LogLine[];
  readonly upstreams: RawUpstream[] = [];
  /** What each engine of the next table says that it works on at once; 0: it does not say. */
  slots = 4;
  /** What each engine of the next table says that it can be asked for; undefined: it does not say. */
  apis: readonly EngineApi[] | undefined;
  /** Beside the models of the next table. */
  aliases: Readonly<Record<string, AliasRoute>> = {};
  /** Of whom the router is, by the next table; undefined: it does not say. */
  cluster: string | undefined;
  #revision = 0;

  private constructor(source: RouteSource, router: RunningRouter, logs: LogLine[]) {
    this.source = source;
    this.router = router;
    this.logs = logs;
  }

  static async start(options: Partial<RouterOptions> = {}): Promise<RouterHarness> {
    const source = new RouteSource();
    const logs: LogLine[] = [];
    const logger = pino(
      { level: "debug", base: null },
      { write: (line: string) => logs.push(JSON.parse(line) as LogLine) },
    );
    const listen = { host: "127.0.0.1", port: 0 };
    const router = await startRouter({ listen, transport: source.transport(), logger, ...options });
    return new RouterHarness(source, router, logs);
  }

  /** A router in front of one engine that answers `{"ok":true}` to everything for the model m. */
  static async answering(
    options: Partial<RouterOptions> = {},
  ): Promise<{ harness: RouterHarness; upstream: RawUpstream }> {
    const harness = await RouterHarness.start({ ...options, limits: { tick: millis(20), ...options.limits } });
    const upstream = harness.adopt(await RawUpstream.answering(json('{"ok":true}')));
    await harness.serve({ m: [upstream] });
    return { harness, upstream };
  }

  get url(): string {
    return this.router.url;
  }

  async upstream(script: Script): Promise<RawUpstream> {
    return this.adopt(await RawUpstream.start(script));
  }

  /** The upstream is stopped with the harness. */
  adopt(upstream: RawUpstream): RawUpstream {
    this.upstreams.push(upstream);
    return upstream;
  }

  /** Serves model names by upstreams or bare ports, and waits until the router does. */
  async serve(
    models: Readonly<Record<string, readonly (RawUpstream | number)[]>>,
    change: Partial<ModelRoute> = {},
  ): Promise<void> {
    const routes = Object.entries(models).map(([name, replicas]): ModelRoute => ({
      name,
      profile: profileName(name),
      created: 1_700_000_000,
      waitingFor: "",
      waitSeconds: 0,
      replicas: replicas.map((replica, index) => ({
        id: replicaId(`${name}-${String(index)}`),
        host: "127.0.0.1",
        port: typeof replica === "number" ? replica : replica.port,
        apiKey: "ek-secret",
        slots: this.slots,
        ...(this.apis === undefined ? {} : { apis: this.apis }),
      })),
      ...change,
    }));
    const aliases = Object.entries(this.aliases).map(([name, alias]): ModelRoute => ({
      ...{
        name,
        alias,
        profile: profileName(""),
        created: 1_700_000_000,
        waitingFor: "",
        waitSeconds: 0,
        replicas: [],
      },
    }));
    await this.push([...routes, ...aliases]);
  }

  /** Has the router serve exactly these, and waits until it does. */
  async push(models: readonly ModelRoute[]): Promise<void> {
    this.#revision += 1;
    const revision = this.#revision;
    const cluster = this.cluster === undefined ? {} : { cluster: this.cluster };
    this.source.push({ revision, models, ...cluster });
    await until("the table in use", () => this.source.reports.some((report) => report.tableRevision === revision));
  }

  post(body: unknown, init: RequestInit & { readonly path?: string } = {}): Promise<Response> {
    return fetch(`${this.url}${init.path ?? "/v1/chat/completions"}`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...init,
      headers: { "content-type": "application/json", ...(init.headers as Record<string, string> | undefined) },
    });
  }

  /** The value of a sample, 0 when there is none: `metric('llmgw_router_requests_total{model="m",code="200"}')`. */
  async metric(sample: string): Promise<number> {
    const line = (await this.router.metrics()).split("\n").find((candidate) => candidate.startsWith(`${sample} `));
    return Number(line?.slice(sample.length) ?? 0);
  }

  /** The access log's line of the n-th request, waited for. */
  logged(match: LogLine): Promise<LogLine> {
    return until(
      `a log line with ${JSON.stringify(match)}`,
      () => this.logs.find((line) => Object.entries(match).every(([key, value]) => line[key] === value)),
      { timeoutMs: 10_000, seen: () => JSON.stringify(this.logs.slice(-5), null, 1) },
    );
  }

  /** Waits until nothing is in flight anywhere: what every test should end with. */
  async idle(): Promise<void> {
    await until("nothing in flight", async () => {
      const text = await this.router.metrics();
      return ![...text.matchAll(/^llmgw_router_in_flight\{[^}]*\} (-?\d+)$/gm)].some(([, count]) => count !== "0");
    });
  }

  async stop(): Promise<void> {
    await Promise.all(this.upstreams.map((upstream) => upstream.stop()));
    await this.router.stop();
  }
}

export interface ErrorBody {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly param: string | null;
    readonly code: string | null;
  };
}

export const errorOf = async (response: Response): Promise<ErrorBody["error"]> =>
  ((await response.json()) as ErrorBody).error;
