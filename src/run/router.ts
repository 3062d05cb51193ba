import type { Transport } from "@connectrpc/connect";
import { type Clock, systemClock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import type { RouterAuth } from "../router/keys/gate.ts";
import { DEFAULT_LIMITS, type RouterLimits } from "../router/limits.ts";
import type { RoutingPolicyName } from "../routing/policies.ts";
import { RouterServer } from "../router/server.ts";
import { TableClient } from "../router/table.ts";
import { openRouterBooks } from "./router-books.ts";
import type { Tracing } from "./tracing.ts";
import { tracingSettings } from "./tracing-settings.ts";

export interface RouterOptions {
  readonly listen: { readonly host: string; readonly port: number };
  /** Where RouterService is: the control plane, or one in the same process. */
  readonly transport: Transport;
  readonly logger: Logger;
  /** PEM texts. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Origins whose pages may call the router; "*" for all. None by default: a page must not use a router unasked. */
  readonly cors?: readonly string[];
  /** "keys": only those are served who show a key that the control plane knows. Left out: everybody. */
  readonly auth?: RouterAuth;
  readonly limits?: Partial<RouterLimits>;
  readonly policy?: RoutingPolicyName;
  /** Whether streams are made to count their tokens where the client did not ask; on by default. */
  readonly asksUsage?: boolean;
  /** Where usage is kept until the control plane has it. Left out: what is not sent yet is lost with the process. */
  readonly stateDir?: string;
  readonly clock?: Clock;
  /** Where OTEL_* variables are looked for; left out: nothing is traced. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface RunningRouter {
  readonly url: string;
  readonly port: number;
  /** Prometheus' exposition text, for a process that shows it elsewhere too. */
  metrics(): Promise<string>;
  /** Shows another certificate, in PEM, to connections that are made from now on. Nothing, when the router speaks no TLS. */
  renewTls(tls: { readonly cert: string; readonly key: string }): void;
  /** Resolves when no connection is left. Requests in flight get `limits.stop` to end. */
  stop(): Promise<void>;
}

/** Starts a router. Rejects when its address cannot be listened on; a control plane that is away is no failure. */
export async function startRouter(options: RouterOptions): Promise<RunningRouter> {
  const { listen, transport, logger, clock = systemClock } = options;
  const random = Math.random;
  const tracing = await openTracing(options.env ?? {}, logger);
  const books = await openRouterBooks({ stateDir: options.stateDir, clock, logger });
  const server = new RouterServer({
    clock,
    random,
    logger,
    limits: { ...DEFAULT_LIMITS, ...options.limits },
    policy: options.policy ?? "prefix-affinity",
    asksUsage: options.asksUsage ?? true,
    cors: options.cors ?? [],
    auth: options.auth ?? "none",
    tls: options.tls,
    usage: books.journal,
    keys: books.keys,
    tracer: tracing,
  });
  const port = await server.listen(listen.host, listen.port).catch(async (error: unknown) => {
    await books.close();
    throw error;
  });
  books.journal.watch(() => server.running());
  const table = new TableClient({
    transport,
    holder: server.fleet,
    keys: books.keys,
    routerId: books.instance,
    ended: books.ended,
    parts: books.parts,
    clock,
    random,
    logger,
  });
  table.start();
  const scheme = options.tls === undefined ? "http" : "https";
  const host = listen.host.includes(":") ? `[${listen.host}]` : listen.host;
  return {
    url: `${scheme}://${host}:${String(port)}`,
    port,
    metrics: () => server.metrics.text(),
    renewTls: (tls) => {
      server.renewTls(tls);
    },
    async stop() {
      await server.stop();
      await tracing?.stop();
      await books.drain();
      await table.stop();
      await books.close();
    },
  };
}

/** The SDK is large: it is loaded only where the environment asks for it. */
async function openTracing(env: NonNullable<RouterOptions["env"]>, logger: Logger): Promise<Tracing | undefined> {
  const { settings, problems } = tracingSettings(env);
  for (const problem of problems) logger.warn(problem);
  if (settings === undefined) return undefined;
  const { startTracing } = await import("./tracing.ts");
  return startTracing(settings);
}
