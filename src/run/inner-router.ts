import { join } from "node:path";
import type { Transport } from "@connectrpc/connect";
import type { ServerConfig } from "../config/server.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/logger.ts";
import { followServerTls } from "./followed-tls.ts";
import { listenError } from "./listen-error.ts";
import { type RunningRouter, startRouter } from "./router.ts";

interface InnerRouterOptions {
  readonly config: ServerConfig["router"];
  /** The control plane's. */
  readonly dataDir: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface InnerRouter extends RunningRouter {
  /** Reads its certificate again. */
  reload(): void;
}

/** The router inside a control plane; undefined when `router.listen` is empty. */
export async function openInnerRouter(
  { config, dataDir, logger, clock, env }: InnerRouterOptions,
  transport: Transport,
): Promise<InnerRouter | undefined> {
  const { listen, tls, auth, cors, policy, queue, http1, count_streams: asksUsage, rescue } = config;
  if (listen === undefined) return undefined;
  const followed =
    tls === undefined ? undefined : await followServerTls({ files: tls, where: "router.tls", clock, logger });
  try {
    const router = await startRouter({
      ...{ listen, transport, logger, auth, cors, policy, http1, asksUsage, clock, env },
      stateDir: join(dataDir, "router"),
      rescues: rescue === "on",
      limits: {
        bodyBytes: config.max_body,
        queueLength: queue.length,
        queueWait: queue.wait,
        coldWait: queue.cold_wait,
        headroom: queue.headroom,
      },
      ...(followed === undefined ? {} : { tls: followed.current }),
    });
    followed?.onChange((texts) => {
      router.renewTls(texts);
    });
    return {
      ...router,
      reload: () => void followed?.reload(),
      async stop() {
        followed?.close();
        await router.stop();
      },
    };
  } catch (error) {
    followed?.close();
    throw listenError(error, listen, "router.listen");
  }
}
