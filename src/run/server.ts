import { join } from "node:path";
import { Code, ConnectError, createRouterTransport, type Transport } from "@connectrpc/connect";
import { randomUUID } from "node:crypto";
import type { ListenAddress } from "../config/listen.ts";
import { writeListen } from "../config/listen.ts";
import type { ServerConfig } from "../config/server.ts";
import { innerRoutes, publicRoutes } from "../control/api/routes.ts";
import { type ControlPlane, startControlPlane } from "../control/control-plane.ts";
import { controlMetrics } from "../control/metrics.ts";
import { mintReplica } from "../control/mint.ts";
import { policyOf } from "../control/policy.ts";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import { readSecretFile } from "../platform/config-file.ts";
import { isErrno } from "../platform/files.ts";
import { listen, type Listening, type TlsMaterial } from "../platform/listen.ts";
import type { Logger } from "../platform/logger.ts";
import { ensurePrivateFile } from "../platform/private-file.ts";
import { openSqliteStore } from "../store/sqlite.ts";
import type { Store } from "../store/store.ts";
import { adminToken } from "./admin-token.ts";
import { type RunningRouter, startRouter } from "./router.ts";
import { rpcHandler } from "./rpc-handler.ts";
import { serverPages } from "./server-pages.ts";

/** Calls in flight at the end get so long. Streams are told to end at once. */
const CLOSE_DEADLINE = millis(3_000);

export interface ServerOptions {
  readonly config: ServerConfig;
  /** Holds `admin-token` and, unless the configuration names another place, `server.db`. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock?: Clock;
}

export interface RunningServer {
  /** For a client on this machine. */
  readonly url: string;
  readonly adminToken: string;
  /** "" when the server carries no router. */
  readonly routerUrl: string;
  /** RouterService without a socket, for a router in this process. */
  readonly routes: Transport;
  /** Resolves when everything is written and no connection is left. */
  stop(): Promise<void>;
}

/** Starts a control plane, with a router inside unless `router.listen` is empty. Rejects in words when it cannot. */
export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { config, dataDir, logger, clock = systemClock } = options;
  refuseUnsupported(config);
  await using started = new AsyncDisposableStack();
  const token = await adminToken(dataDir);
  const store = await openStore(config, dataDir);
  started.defer(() => store.close());
  const late: { router: RunningRouter | undefined } = { router: undefined };
  const plane = await startControlPlane({
    store,
    clock,
    logger,
    policy: policyOf(config),
    mint: mintReplica,
    requireCertificates: config.tls !== undefined,
    adminToken: token,
    routerUrl: () => (late.router === undefined ? "" : reachable(late.router.url, config)),
  });
  started.defer(() => plane.loop.stop());
  const listening = await openPort(options, plane, () => late.router);
  started.defer(() => listening.close());
  const routes = createRouterTransport((router) => {
    innerRoutes(router, plane);
  });
  late.router = await openRouter(options, routes);
  started.defer(async () => late.router?.stop());

  const url = localUrl(config.tls === undefined ? "http" : "https", { ...config.listen, port: listening.port });
  const routerUrl = late.router === undefined ? "" : reachable(late.router.url, config);
  logger.info({ url, ...(routerUrl === "" ? {} : { router: routerUrl }) }, "control plane started");
  const running = started.move();
  return { url, adminToken: token, routerUrl, routes, stop: () => running.disposeAsync() };
}

/** What a configuration may say, and this version does not do: better a refusal than a half truth. */
function refuseUnsupported({ router }: ServerConfig): void {
  if (router.listen === undefined || router.auth === "none") return;
  throw new LlmgwError(
    "BAD_CONFIG",
    `router.auth is keys, but this version has no client keys yet: whoever reaches ${writeListen(router.listen)} could use ` +
      'the models. Write router: { auth: none } if that is what you want, or listen on 127.0.0.1, or set router.listen: "".',
  );
}

async function openStore({ store }: ServerConfig, dataDir: string): Promise<Store> {
  if (store?.kind === "postgres") {
    throw new LlmgwError(
      "BAD_CONFIG",
      "store: this version keeps its state in SQLite only; write store: sqlite:/PATH.",
    );
  }
  const path = store?.path ?? join(dataDir, "server.db");
  try {
    await ensurePrivateFile(path);
    return await openSqliteStore({ path, newServerId: randomUUID() });
  } catch (error) {
    if (error instanceof LlmgwError) throw error;
    throw new LlmgwError("FAILED", `the store ${path} cannot be opened: ${messageOf(error)}`, { cause: error });
  }
}

async function openPort(
  { config, logger }: ServerOptions,
  plane: ControlPlane,
  router: () => RunningRouter | undefined,
): Promise<Pick<Listening, "port" | "close">> {
  const shutdown = new AbortController();
  const registry = controlMetrics(() => plane.loop.snapshot);
  const handler = rpcHandler({
    routes: (routes) => {
      publicRoutes(routes, plane);
    },
    shutdown: shutdown.signal,
    logger,
    otherwise: serverPages({
      metrics: async () => `${await registry.metrics()}\n${(await router()?.metrics()) ?? ""}`,
      // The port opens after the first turn of the loop, and closes before the last one.
      notReady: () => (shutdown.signal.aborted ? "the control plane is stopping" : undefined),
    }),
  });
  const listening = await listenInWords({ ...config.listen, tls: tlsOf(config.tls), handler }, "listen");
  return {
    port: listening.port,
    close: async () => {
      shutdown.abort(new ConnectError("the control plane is stopping", Code.Unavailable));
      await listening.close(CLOSE_DEADLINE);
    },
  };
}

async function listenInWords(options: Parameters<typeof listen>[0], key: string): Promise<Listening> {
  try {
    return await listen(options);
  } catch (error) {
    throw inWords(error, options, key);
  }
}

function inWords(error: unknown, address: ListenAddress, key: string): LlmgwError {
  const where = writeListen(address);
  const why = isErrno(error, "EADDRINUSE")
    ? "another program has this port"
    : isErrno(error, "EACCES")
      ? "this user may not open this port"
      : isErrno(error, "EADDRNOTAVAIL")
        ? "this machine has no such address"
        : messageOf(error);
  return new LlmgwError("FAILED", `${key}: cannot listen on ${where}: ${why}`, { cause: error });
}

async function openRouter(
  { config, logger, clock }: ServerOptions,
  transport: Transport,
): Promise<RunningRouter | undefined> {
  const { listen: address, tls } = config.router;
  if (address === undefined) return undefined;
  const material = tls === undefined ? {} : { tls: tlsPair(tls, "router.tls") };
  try {
    return await startRouter({
      listen: address,
      transport,
      logger,
      ...material,
      ...(clock === undefined ? {} : { clock }),
    });
  } catch (error) {
    throw inWords(error, address, "router.listen");
  }
}

function tlsOf(tls: ServerConfig["tls"]): TlsMaterial | undefined {
  return tls === undefined ? undefined : { ...tlsPair(tls, "tls"), ca: pem(tls.ca, "tls.ca") };
}

const tlsPair = ({ cert, key }: { readonly cert: string; readonly key: string }, where: string) => ({
  cert: pem(cert, `${where}.cert`),
  key: pem(key, `${where}.key`),
});

function pem(path: string, key: string): string {
  const read = readSecretFile(path);
  if (read.ok) return read.value;
  throw new LlmgwError("BAD_CONFIG", `${key}: ${read.error}`);
}

const EVERYWHERE: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "::1" };

const localUrl = (scheme: string, { host, port }: ListenAddress): string =>
  `${scheme}://${writeListen({ host: EVERYWHERE[host] ?? host, port })}`;

/** A router that listens everywhere is reached where the control plane is said to be, else on this machine. */
function reachable(routerUrl: string, { public_url: publicUrl, router }: ServerConfig): string {
  const { protocol, port } = new URL(routerUrl);
  const host = router.listen?.host ?? "";
  if (EVERYWHERE[host] === undefined) return routerUrl;
  if (publicUrl === undefined) return localUrl(protocol.slice(0, -1), { host, port: Number(port) });
  return `${protocol}//${new URL(publicUrl).hostname}:${port}`;
}
