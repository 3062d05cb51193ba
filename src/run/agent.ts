import { watchInventory } from "../agent/discovery/watch.ts";
import { gatherInventory } from "../agent/discovery/inventory.ts";
import { systemClock } from "../platform/clock.ts";
import { createDownloader } from "../platform/fetch/download.ts";
import { AgentIdentity } from "./agent-identity.ts";
import { takeAgentLock } from "./agent-lock.ts";
import {
  type AgentOptions,
  controlLink,
  engineProvider,
  inventorySources,
  nodeReplicas,
  offerMetrics,
  offerWeights,
  weightStore,
  Wiring,
} from "./agent-parts.ts";

export interface RunningAgent {
  /** Reads the certificates again. */
  reload(): void;
  /** The node carries these labels from now on. */
  relabel(labels: AgentOptions["config"]["labels"]): void;
  /** Engines that are kept serve on, and the next agent on the same folder takes them over. */
  stop(how: "keep-engines" | "stop-engines"): Promise<void>;
  /** Resolves after a stop; rejects when the agent cannot go on. */
  readonly done: Promise<void>;
}

/** Takes over the engines that are there, and goes on from what the control plane wants once it is reached. */
export async function startAgent(options: AgentOptions): Promise<RunningAgent> {
  const identity = await AgentIdentity.open({ ...options, workDir: options.paths.workDir });
  const stack = new AsyncDisposableStack();
  stack.defer(() => {
    identity.close();
  });
  try {
    const lock = await takeAgentLock(options.paths.workDir, options.logger);
    stack.defer(() => lock.release());
    return await startUnlocked(options, stack, identity);
  } catch (error) {
    await stack.disposeAsync();
    throw error;
  }
}

async function startUnlocked(
  options: AgentOptions,
  stack: AsyncDisposableStack,
  identity: AgentIdentity,
): Promise<RunningAgent> {
  const { logger, env } = options;
  const wiring = new Wiring();
  const downloader = createDownloader({ env, clock: systemClock });
  stack.defer(() => downloader.close());
  const suppliers = {
    provider: engineProvider(options, downloader),
    weights: weightStore(options, wiring, downloader),
  };
  stack.defer(async () => wiring.peers?.close());
  const replicas = await nodeReplicas(options, wiring, suppliers);
  const watching = new AbortController();
  stack.defer(() => {
    watching.abort();
  });
  const sources = inventorySources(options, wiring, suppliers);
  const worn = { labels: sources.labels };
  const watch = await watchInventory({
    gather: () => gatherInventory({ ...sources, ...worn }),
    onChange: () => {
      wiring.link?.changed();
      offerWeights(options, wiring);
    },
    ...{ clock: systemClock, logger, signal: watching.signal },
  });
  wiring.watch = watch;
  identity.whenCertified((tls) => wiring.peers?.useTls(tls));
  offerWeights(options, wiring);
  const scrubbing = wiring.scrub?.run(watching.signal);
  stack.defer(async () => {
    watching.abort();
    await scrubbing;
  });
  const link = controlLink(options, wiring, { replicas, watch, weights: suppliers.weights, identity });
  stack.defer(await offerMetrics(options, { link, peers: wiring.peers }, { replicas, watch }));
  stack.defer(() => {
    wiring.renewal?.close();
  });
  const running = link.run();
  return {
    done: running,
    reload: () => {
      identity.reload();
    },
    relabel(labels) {
      worn.labels = labels;
      watch.refresh();
    },
    async stop(how) {
      link.leave();
      await running;
      await (how === "stop-engines" ? replicas.stopAll() : replicas.detach());
      await stack.disposeAsync();
    },
  };
}
