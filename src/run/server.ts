import { join } from "node:path";
import { Code, ConnectError, createRouterTransport, type Transport } from "@connectrpc/connect";
import type { Registry } from "prom-client";
import { randomUUID } from "node:crypto";
import { isLoopback } from "../config/ip.ts";
import { writeListen } from "../config/listen.ts";
import { renderServerConfig, type ServerConfig } from "../config/server.ts";
import { withLiveSettings } from "../config/server-live.ts";
import { innerRoutes, publicRoutes } from "../control/api/routes.ts";
import { type ControlPlane, startControlPlane } from "../control/control-plane.ts";
import { controlMetrics } from "../control/metrics.ts";
import { mintReplica } from "../control/mint.ts";
import { policyOf } from "../control/policy.ts";
import type { Support } from "../control/support.ts";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { listen, type Listening } from "../platform/listen.ts";
import { acquireLock, type Lock } from "../platform/lock.ts";
import type { Logger } from "../platform/logger.ts";
import { ensurePrivateFile } from "../platform/private-file.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { adminToken } from "./admin-token.ts";
import { listenError } from "./listen-error.ts";
import { clientUrl, localUrl } from "./local-url.ts";
import { modelLook } from "./look-at-model.ts";
import { type InnerRouter, openInnerRouter } from "./inner-router.ts";
import type { RunningRouter } from "./router.ts";
import { rpcHandler } from "./rpc-handler.ts";
import { serverPages } from "./server-pages.ts";
import { openServerTls, type ServerTls } from "./server-tls.ts";
import { copyOfStore, storePath } from "./store-copy.ts";

/** Calls in flight at the end get so long. Streams are told to end at once. */
const CLOSE_DEADLINE = millis(3_000);

export interface ServerOptions {
  readonly config: ServerConfig;
  /** Holds `admin-token` and, unless the configuration names another place, `server.db`. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** The process's own by default: HF_* and proxy variables are read from it. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface RunningServer {
  /** For a client on this machine. */
  readonly url: string;
  readonly adminToken: string;
  /** RouterService without a socket, for a router in this process. */
  readonly routes: Transport;
  /** Reads the certificates again, the router's too. */
  reload(): void;
  /** Puts in force what `withLiveSettings` says can be without a restart. */
  take(next: ServerConfig): void;
  /** Resolves when everything is written and no connection is left. */
  stop(): Promise<void>;
}

/** Starts a control plane, with a router inside unless `router.listen` is empty. Rejects in words when it cannot. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { config, dataDir, logger, clock = systemClock, env = process.env } = options;
  await using started = new AsyncDisposableStack();
  const lock = await lockFolder(dataDir);
  started.defer(() => lock.release());
  const tls = config.tls === undefined ? undefined : await openServerTls(config.tls, { clock, logger });
  if (tls !== undefined)
    started.defer(() => {
      tls.followed.close();
    });
  warnOfPlainHttp(config, logger);
  const token = await adminToken(dataDir);
  const store = await openStore(config, dataDir);
  started.defer(() => store.close());
  const late: { router: InnerRouter | undefined; registry: Registry | undefined } = {
    router: undefined,
    registry: undefined,
  };
  const metrics = async (): Promise<string> =>
    `${(await late.registry?.metrics()) ?? ""}\n${(await late.router?.metrics()) ?? ""}`;
  const live = { config };
  const model = modelLook(clock, env);
  started.defer(() => model.downloader.close());
  const plane = await startControlPlane({
    ...{ store, clock, logger },
    policy: policyOf(config),
    mint: mintReplica,
    door: tls?.door,
    enrolment: tls?.enrolment,
    publicUrl: () => live.config.public_url ?? "",
    adminToken: token,
    routerUrl: () => routerUrl(live.config, late.router),
    lookAtModel: model.look,
    usageRetain: config.usage.retain,
    ownFolder: dataDir,
    support: supportOf(live, dataDir, metrics),
  });
  started.defer(() => plane.settled());
  started.defer(() => plane.loop.stop());
  late.registry = controlMetrics(plane.loop, plane.weights);
  const listening = await openPort(options, { plane, tls, metrics });
  started.defer(() => listening.close());
  const routes = createRouterTransport((router) => {
    innerRoutes(router, plane);
  });
  late.router = await openInnerRouter({ config: config.router, dataDir, logger, clock, env }, routes);
  started.defer(async () => late.router?.stop());

  const url = localUrl(config.tls === undefined ? "http" : "https", { ...config.listen, port: listening.port });
  tellOfNoKeys(config, plane, logger);
  logger.info({ url, router: routerUrl(config, late.router) }, "control plane started");
  const running = started.move();
  return {
    ...{ url, adminToken: token, routes, stop: () => running.disposeAsync() },
    reload: () => {
      void tls?.followed.reload();
      late.router?.reload();
    },
    take: taking(live, plane),
  };
}

/** With the configuration that is in force when somebody asks: a SIGHUP may have changed it. */
const supportOf = (live: { config: ServerConfig }, dataDir: string, metrics: Support["metrics"]): Support => ({
  configuration: () => renderServerConfig(live.config),
  metrics,
  copyStore: () => copyOfStore(live.config, dataDir),
});

const taking =
  (live: { config: ServerConfig }, { loop }: ControlPlane) =>
  (next: ServerConfig): void => {
    live.config = withLiveSettings(live.config, next);
    loop.use(policyOf(live.config));
  };

/** Two control planes that decide on one state would undo each other's work. */
async function lockFolder(dataDir: string): Promise<Lock> {
  const lock = await acquireLock(join(dataDir, "server.lock"));
  if (lock.ok) return lock.value;
  const pid = String(lock.error.pid);
  throw new LlmgwError("CONFLICT", `a control plane already runs on ${dataDir}, as process ${pid}: stop it first.`);
}

/** "" when there is none. */
function routerUrl({ router, public_url: publicUrl }: ServerConfig, running: RunningRouter | undefined): string {
  if (running === undefined || router.listen === undefined) return "";
  const listening = { ...router.listen, port: running.port };
  return clientUrl(router.tls === undefined ? "http" : "https", listening, publicUrl);
}

/** Whoever is on the network could read along, and say that it is any node. */
function warnOfPlainHttp({ listen: address, tls }: ServerConfig, logger: Logger): void {
  if (tls !== undefined || isLoopback(address.host)) return;
  logger.warn(
    `listen: ${writeListen(address)} speaks plain http: anyone on that network can read the admin token and the engines' keys, ` +
      "and nodes prove themselves by a join token alone. `llmgw ctl cert` makes certificates for tls.",
  );
}

/** A router that refuses everybody looks broken to whoever has just started it. */
function tellOfNoKeys({ router }: ServerConfig, { loop, clock }: ControlPlane, logger: Logger): void {
  if (router.listen === undefined || router.auth === "none") return;
  const now = clock.now();
  const isUsable = loop.snapshot.keys.some(
    ({ revokedAt, expiresAt }) => revokedAt === undefined && (expiresAt === undefined || expiresAt > now),
  );
  if (isUsable) return;
  logger.warn(
    "router.auth is keys and there is no key yet, so the router refuses everybody. `llmgw ctl keys create NAME` makes one.",
  );
}

async function openStore(config: ServerConfig, dataDir: string): Promise<Store> {
  if (config.store?.kind === "postgres") {
    throw new LlmgwError(
      "BAD_CONFIG",
      "store: this version keeps its state in SQLite only; write store: sqlite:/PATH.",
    );
  }
  const path = storePath(config, dataDir);
  try {
    await ensurePrivateFile(path);
    return await openSqliteStore({ path, newServerId: randomUUID() });
  } catch (error) {
    if (error instanceof LlmgwError) throw error;
    throw new LlmgwError("FAILED", `the store ${path} cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}

interface PortParts {
  readonly plane: ControlPlane;
  readonly tls: ServerTls | undefined;
  readonly metrics: () => Promise<string>;
}

async function openPort(
  { config, logger }: ServerOptions,
  { plane, tls, metrics }: PortParts,
): Promise<Pick<Listening, "port" | "close">> {
  const shutdown = new AbortController();
  const handler = rpcHandler({
    routes: (routes) => {
      publicRoutes(routes, plane);
    },
    shutdown: shutdown.signal,
    logger,
    otherwise: serverPages({
      metrics,
      // The port opens after the first turn of the loop.
      notReady: () => (shutdown.signal.aborted ? "the control plane is stopping" : plane.loop.failure?.message),
    }),
  });
  const listening = await listen({ ...config.listen, tls: tls?.material, handler }).catch((error: unknown) => {
    throw listenError(error, config.listen, "listen");
  });
  tls?.serve(listening);
  return {
    port: listening.port,
    close: async () => {
      shutdown.abort(new ConnectError("the control plane is stopping", Code.Unavailable));
      await listening.close(CLOSE_DEADLINE);
    },
  };
}
