import type { RouterConfig } from "../config/router.ts";
import { writeListen } from "../config/listen.ts";
import { LlmgwError, messageOf } from "../core/errors.ts";
import { millis } from "../core/ids.ts";
import { listen } from "../platform/listen.ts";
import { systemClock } from "../platform/clock.ts";
import type { LogFormat, Logger, LogLevel } from "../platform/logger.ts";
import { makePrivateFolder } from "../platform/subfolders.ts";
import { lookAtProof, startRouterAlone } from "./router-alone.ts";
import { RouterWorkers } from "./router-workers.ts";
import { serverPages } from "./server-pages.ts";

export interface RouterRoleOptions {
  readonly config: RouterConfig;
  readonly stateDir: string;
  readonly logger: Logger;
  /** How `logger` was made, for other processes of the same router. */
  readonly log: { readonly level: LogLevel; readonly format: LogFormat };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A router that runs, in however many processes. */
export interface RunningRouterRole {
  readonly url: string;
  /** Reads its certificates again. */
  reload(): void;
  /** Requests in flight get `drain` to end. Resolves when all is written and no connection is left. */
  stop(): Promise<void>;
}

/** Starts `llmgw router`. Rejects, in words, when it cannot. */
export async function startRouterRole(options: RouterRoleOptions): Promise<RunningRouterRole> {
  const { config, stateDir, logger } = options;
  lookAtProof(config, logger);
  await makePrivateFolder(stateDir).catch((error: unknown) => {
    throw new LlmgwError("FAILED", `state_dir: ${stateDir} cannot be made: ${messageOf(error)}`, { cause: error });
  });
  const router = config.workers === 1 ? await startRouterAlone(options) : await startWorkers(options);
  const metrics = await offerMetrics(options, router);
  logger.info({ url: router.url }, "router started");
  return {
    url: router.url,
    reload: () => {
      router.reload();
    },
    async stop() {
      await router.stop();
      await metrics();
    },
  };
}

/** The same router in several processes. */
async function startWorkers({
  config,
  stateDir,
  logger,
  log,
}: RouterRoleOptions): Promise<Numbers & RunningRouterRole> {
  const { workers, url } = await RouterWorkers.start({ config, stateDir, logger, log, clock: systemClock });
  return {
    url,
    metrics: () => workers.metrics(),
    notReady: () => workers.notReady(),
    reload: () => {
      workers.reload();
    },
    stop: () => workers.stop(),
  };
}

/** What is shown of it on `metrics_listen`. */
interface Numbers {
  metrics(): Promise<string>;
  notReady(): string | undefined | Promise<string | undefined>;
}

/** Scrapes are short. */
const CLOSE_DEADLINE = millis(1_000);

/** A router whose numbers cannot be read still serves: that they cannot is said, and no more. */
async function offerMetrics({ config, logger }: RouterRoleOptions, router: Numbers): Promise<() => Promise<void>> {
  const address = config.metrics_listen;
  if (address === undefined) return () => Promise.resolve();
  const handler = serverPages({ metrics: () => router.metrics(), notReady: () => router.notReady() });
  try {
    const listening = await listen({ ...address, tls: undefined, handler });
    const where = writeListen({ ...address, port: listening.port });
    logger.info(`metrics are on http://${where}/metrics`);
    return () => listening.close(CLOSE_DEADLINE);
  } catch (error) {
    logger.error(
      `metrics_listen: ${writeListen(address)} cannot be had: ${messageOf(error)}; the router goes on without it`,
    );
    return () => Promise.resolve();
  }
}
