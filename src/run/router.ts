import type { Transport } from "@connectrpc/connect";
import { formatDuration } from "../core/format.ts";
import { hostAndPort } from "../core/host-port.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import type { RouterAuth } from "../router/keys/gate.ts";
import { DEFAULT_LIMITS, type RouterLimits } from "../router/limits.ts";
import type { RoutingPolicyName } from "../routing/policies.ts";
import type { Http1Reader, PortAddress } from "../router/client/port.ts";
import { RouterServer } from "../router/server.ts";
import { onlyControlPlane, type ControlPlanes } from "../router/control-line.ts";
import { LastKnown, type LastKnownOptions } from "../router/state/last-known.ts";
import { TableClient } from "../router/table.ts";
import { keySetFromWire } from "../wire/keys.ts";
import { routeTableFromWire } from "../wire/routes.ts";
import { totalFromWire } from "../wire/usage.ts";
import { openRouterBooks } from "./router-books.ts";
import type { Tracing } from "./tracing.ts";
import { tracingSettings } from "./tracing-settings.ts";

export interface RouterOptions {
  readonly listen: PortAddress;
  /** Where RouterService is: control planes elsewhere, or the one in the same process. */
  readonly transport: Transport | ControlPlanes;
  readonly logger: Logger;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Who reads HTTP/1.1; this program itself by default. */
  readonly http1?: Http1Reader;
  /** Origins whose pages may call the router; "*" for all. None by default: a page must not use a router unasked. */
  readonly cors?: readonly string[];
  /** "keys": only those are served who show a key that the control plane knows. Left out: everybody. */
  readonly auth?: RouterAuth;
  readonly limits?: Partial<RouterLimits>;
  readonly policy?: RoutingPolicyName;
  /** Whether streams are made to count their tokens where the client did not ask; on by default. */
  readonly asksUsage?: boolean;
  /** Whether a stream goes on at another replica when the one that sent it dies; on by default. */
  readonly rescues?: boolean;
  /** Where usage is kept until the control plane has it. Left out: what is not sent yet is lost with the process. */
  readonly stateDir?: string;
  /** The file of the last known routes and keys, for starts without a control plane. Left out: there are no such starts. */
  readonly lastKnown?: Pick<LastKnownOptions, "path" | "writes">;
  readonly clock?: Clock;
  /** Where OTEL_* variables are looked for; left out: nothing is traced. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface RunningRouter {
  readonly url: string;
  readonly port: number;
  /** Why no request could be answered; undefined: some could. */
  notReady(): string | undefined;
  /** Prometheus' exposition text, for a process that shows it elsewhere too. */
  metrics(): Promise<string>;
  /** The same as values, to be summed with those of other processes. */
  metricsJson(): Promise<readonly object[]>;
  /** Shows another certificate, in PEM, to connections that are made from now on. Nothing, when the router speaks no TLS. */
  renewTls(tls: { readonly cert: string; readonly key: string }): void;
  /** Resolves when no connection is left. Requests in flight get `limits.stop` to end. */
  stop(): Promise<void>;
}

/** Starts a router. Rejects when its address cannot be listened on; a control plane that is away is no failure. */
export async function startRouter(options: RouterOptions): Promise<RunningRouter> {
  const { listen, transport, logger, clock = systemClock } = options;
  const tracing = await openTracing(options.env ?? {}, logger);
  const books = await openRouterBooks({ stateDir: options.stateDir, clock, logger });
  const lastKnown = options.lastKnown && (await LastKnown.open({ ...options.lastKnown, clock, logger }));
  const server = new RouterServer({
    ...settingsOf(options),
    clock,
    random: Math.random,
    logger,
    usage: books.journal,
    keys: books.keys,
    tracer: tracing,
    away: () => lastKnown?.away(),
  });
  if (lastKnown !== undefined) recall(lastKnown, server, logger);
  const port = await server.listen(listen).catch(async (error: unknown) => {
    await books.close();
    throw error;
  });
  books.journal.watch(() => server.running());
  const table = new TableClient({
    control: "dial" in transport ? transport : onlyControlPlane(transport),
    holder: server.fleet,
    keys: books.keys,
    routerId: books.instance,
    ended: books.ended,
    parts: [...books.parts, ...(lastKnown === undefined ? [] : [lastKnown])],
    clock,
    random: Math.random,
    logger,
  });
  table.start();
  const stop = async (): Promise<void> => {
    await server.stop();
    await tracing?.stop();
    await books.drain();
    await table.stop();
    await lastKnown?.stop();
    await books.close();
  };
  return running(server, { url: urlOf(options, port), port, stop });
}

/** What is not set is as it usually is. */
const settingsOf = ({ limits, policy, asksUsage, rescues, http1, cors, auth, tls }: RouterOptions) => ({
  limits: { ...DEFAULT_LIMITS, ...limits },
  policy: policy ?? ("prefix-affinity" as const),
  asksUsage: asksUsage ?? true,
  rescues: rescues ?? true,
  http1: http1 ?? ("own" as const),
  cors: cors ?? [],
  auth: auth ?? ("none" as const),
  tls,
});

function urlOf({ listen: { host }, tls }: RouterOptions, port: number): string {
  return `${tls === undefined ? "http" : "https"}://${hostAndPort(host, port)}`;
}

const running = (server: RouterServer, rest: Pick<RunningRouter, "url" | "port" | "stop">): RunningRouter => ({
  ...rest,
  metrics: () => server.metrics.text(),
  metricsJson: () => server.metrics.json(),
  notReady: () => server.notReady(),
  renewTls: (tls) => {
    server.renewTls(tls);
  },
});

/** Puts in force what was known when a router last ran here, until a control plane says otherwise. */
function recall(lastKnown: LastKnown, { fleet, keys }: RouterServer, logger: Logger): void {
  const { table, keys: keySet, totals } = lastKnown.known;
  if (keySet !== undefined) keys.update(keySetFromWire(keySet));
  for (const total of totals.totals.map(totalFromWire)) keys.byId(total.keyId)?.use.budget.setTotal(total);
  if (table === undefined) return;
  fleet.update(routeTableFromWire(table));
  const age = formatDuration(lastKnown.away() ?? 0);
  logger.info(
    { models: table.models.length, keys: keySet?.keys.length ?? 0 },
    `routes and keys of ${age} ago were found on disk: they are in force until a control plane answers`,
  );
}

/** The SDK is large: it is loaded only where the environment asks for it. */
async function openTracing(env: NonNullable<RouterOptions["env"]>, logger: Logger): Promise<Tracing | undefined> {
  const { settings, problems } = tracingSettings(env);
  for (const problem of problems) logger.warn(problem);
  if (settings === undefined) return undefined;
  const { startTracing } = await import("./tracing.ts");
  return startTracing(settings);
}
