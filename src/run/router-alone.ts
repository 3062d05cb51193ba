import { join } from "node:path";
import type { RouterConfig } from "../config/router.ts";
import { isOpenHttp } from "../config/server-address.ts";
import { readToken } from "../core/access-token.ts";
import { LlmgwError } from "../core/errors.ts";
import { type Clock, systemClock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { WHOLE, type WorkerPart } from "../router/workers/part.ts";
import { followServerTls, followTls } from "./followed-tls.ts";
import { listenError } from "./listen-error.ts";
import { routerDial } from "./router-dial.ts";
import { type RunningRouter, startRouter } from "./router.ts";

export interface RouterAloneOptions {
  readonly config: RouterConfig;
  readonly stateDir: string;
  readonly logger: Logger;
  /** Trusted authorities and OTEL_* variables are looked for in it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  /** Of several processes that share the port, this one; left out: there is only one. */
  readonly part?: WorkerPart;
}

export interface RunningRouterAlone extends RunningRouter {
  /** Reads its certificates again. */
  reload(): void;
}

/**
 * One process of a router without a control plane in it. Rejects, in words, when its port or its certificates cannot be used;
 * a control plane that is away is no failure.
 */
export async function startRouterAlone(options: RouterAloneOptions): Promise<RunningRouterAlone> {
  const { config, stateDir, logger, env, clock = systemClock, part = WHOLE } = options;
  await using started = new AsyncDisposableStack();
  const { server_tls: own, tls } = config;
  // What it shows to control planes, and what to clients.
  const identity = own && (await followTls({ files: own, where: "server_tls", clock, logger }));
  const shown = tls && (await followServerTls({ files: tls, where: "tls", clock, logger }));
  for (const followed of [identity, shown]) {
    if (followed === undefined) continue;
    started.defer(() => {
      followed.close();
    });
  }
  const { listen, auth, cors, policy, queue, http1, count_streams: asksUsage, rescue } = config;
  const router = await startRouter({
    listen: { ...listen, isShared: part.count > 1 },
    ...{ logger, auth, cors, policy, http1, asksUsage, clock, env, stateDir },
    rescues: rescue === "on",
    transport: routerDial({ servers: config.servers, token: config.token, tls: identity, env, clock }),
    lastKnown: { path: join(stateDir, "last-known.json"), writes: part.index === 0 },
    limits: {
      bodyBytes: config.max_body,
      queueLength: Math.ceil(queue.length / part.count),
      queueWait: queue.wait,
      coldWait: queue.cold_wait,
      headroom: queue.headroom,
      part,
      stop: config.drain,
    },
    ...(shown === undefined ? {} : { tls: shown.current }),
  }).catch((error: unknown) => {
    throw error instanceof LlmgwError ? error : listenError(error, listen, "listen");
  });
  shown?.onChange((texts) => {
    router.renewTls(texts);
  });
  started.defer(() => router.stop());
  const running = started.move();
  return {
    ...router,
    reload: () => {
      void identity?.reload();
      void shown?.reload();
    },
    stop: () => running.disposeAsync(),
  };
}

/** What is wrong with what the router proves itself by and can be seen before a control plane is asked. */
export function lookAtProof({ servers, server_tls: tls, token }: RouterConfig, logger: Logger): void {
  if (tls === undefined && token === undefined) {
    logger.warn(
      "neither server_tls nor token is set: control planes give routes to nobody unknown. `llmgw ctl token create NAME --role router` makes a token",
    );
  }
  if (token !== undefined && readToken(token)?.secret.startsWith("llmgw-join-") === true) {
    logger.warn(
      "token is a join token, which admits nodes: `llmgw ctl token create NAME --role router` makes one for routers",
    );
  }
  for (const server of servers.filter(isOpenHttp)) {
    logger.warn(
      `servers: ${server} is plain http: anyone on the way can read the engines' keys and the token. \`llmgw ctl cert\` makes certificates`,
    );
  }
}
