import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { CertificateRenewal } from "../agent/certificate-renewal.ts";
import { ControlLink } from "../agent/control-link.ts";
import { readNvidiaDriver } from "../agent/discovery/driver.ts";
import { createFabricReader } from "../agent/discovery/fabrics.ts";
import { createGpuReader } from "../agent/discovery/gpus.ts";
import { lastKnownIn } from "../agent/discovery/last-known.ts";
import type { FoundEngines, InventorySources } from "../agent/discovery/inventory.ts";
import type { InventoryWatch } from "../agent/discovery/watch.ts";
import { createGpuHolders } from "../agent/gpu-holders.ts";
import { createGpuUse } from "../agent/gpu-use.ts";
import { createEngineProvider, type EngineProvider } from "../agent/install/provider.ts";
import { agentMetrics } from "../agent/metrics.ts";
import { serveMetrics } from "../agent/metrics-server.ts";
import { measureMemory } from "../agent/memory-watch.ts";
import type { Prepare } from "../agent/node-context.ts";
import { PortBook } from "../agent/port-book.ts";
import { createPrepare } from "../agent/preparation.ts";
import { Replicas } from "../agent/replicas.ts";
import { createRecordBook } from "../agent/weights/folder.ts";
import { Peers } from "../agent/weights/peers/peers.ts";
import type { Share } from "../agent/weights/fetch-model.ts";
import { Scrub } from "../agent/weights/scrub/scrub.ts";
import { createWeightStore, type WeightStore } from "../agent/weights/store.ts";
import type { AgentConfig } from "../config/agent.ts";
import { writeListen } from "../config/listen.ts";
import { hostOf } from "../config/server-address.ts";
import type { DesiredState } from "../core/desired.ts";
import { messageOf } from "../core/errors.ts";
import type { NodeId } from "../core/ids.ts";
import { ok } from "../core/result.ts";
import { ENGINES, engineOf } from "../engines/list.ts";
import { systemClock } from "../platform/clock.ts";
import type { Downloader } from "../platform/fetch/download.ts";
import type { Logger } from "../platform/logger.ts";
import { readBootId } from "../platform/proc.ts";
import { readProcessMemory } from "../platform/process-memory.ts";
import { listAddresses } from "../platform/route.ts";
import { isRoot } from "../platform/user.ts";
import { createDial } from "./agent-dial.ts";
import type { AgentIdentity } from "./agent-identity.ts";
import type { AgentPaths } from "./paths.ts";

export interface AgentOptions {
  readonly config: AgentConfig;
  readonly paths: AgentPaths;
  readonly nodeId: NodeId;
  readonly logger: Logger;
  /** Proxies, tokens, PATH and the user's own folder are read from it; no engine inherits it. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What the parts of an agent tell each other; each is made before those that it is told by. */
export class Wiring {
  desired: DesiredState | undefined;
  watch: InventoryWatch | undefined;
  link: ControlLink | undefined;
  renewal: CertificateRenewal | undefined;
  peers: Peers | undefined;
  scrub: Scrub | undefined;

  get address(): string | undefined {
    const address = this.watch?.current().address ?? "";
    return address === "" ? undefined : address;
  }
}

/** Where a llama-server that was unpacked by hand is looked for. */
const OPT_DIR = "/opt/llama.cpp";

export function engineProvider({ config, paths, logger, env }: AgentOptions, downloader: Downloader): EngineProvider {
  const { engines } = config;
  const named = { "llama.cpp": engines["llama.cpp"].bin, vllm: engines.vllm.bin, sglang: engines.sglang.python };
  const configured = Object.entries(named).flatMap(([name, path]) =>
    path === undefined ? [] : [[name, path] as const],
  );
  return createEngineProvider({
    enginesDir: paths.enginesDir,
    configured: Object.fromEntries(configured),
    uv: engines.uv.bin,
    pathDirs: (env["PATH"] ?? "").split(":").filter((folder) => folder !== ""),
    optDir: OPT_DIR,
    isRoot: isRoot(),
    gpuDriver: readNvidiaDriver,
    ...{ env, downloader, clock: systemClock, logger },
  });
}

/** With the way over other nodes, which `wiring` gets. */
export function weightStore(options: AgentOptions, wiring: Wiring, downloader: Downloader): WeightStore {
  const { config, paths, logger, env, nodeId } = options;
  const records = createRecordBook();
  const peers = new Peers({
    ...{ node: nodeId, dir: paths.weightsDir, records, downloader, clock: systemClock, random: Math.random, logger },
    isConnected: () => wiring.link?.isConnected ?? false,
    changed: () => wiring.link?.changed(),
    onSuspects: (keys) => wiring.scrub?.suspect(keys),
  });
  wiring.peers = peers;
  const folders = { dir: paths.weightsDir, modelDirs: config.model_dirs };
  const share: Share = (job) => peers.fetch(job);
  const store = createWeightStore({ ...folders, env, downloader, clock: systemClock, logger, records, share });
  wiring.scrub = new Scrub({
    ...{ dir: paths.weightsDir, records, clock: systemClock, logger },
    stateFile: join(paths.workDir, "scrub.json"),
    held: () => peers.held(),
    onWrong: (key) => {
      peers.lost(key).catch((error: unknown) => {
        logger.error({ err: error }, "what this node has for others cannot be looked at");
      });
    },
    onChange: () => wiring.watch?.refresh(),
    refetch: async ({ source, main, files }, signal) => {
      const order = { choose: () => ok({ files, main }), onProgress: () => undefined, signal };
      return (await store.ensure({ source, files: [], sha256: {} }, order)).ok;
    },
  });
  return store;
}

/** Offers other nodes what this one has, at the address that it has now, where the configuration wants it. */
export function offerWeights({ config, logger }: AgentOptions, { peers, address }: Wiring): void {
  const listen = config.peer_listen;
  const host = listen?.host ?? address;
  peers?.listenAt(listen === undefined || host === undefined ? undefined : { host, port: listen.port });
  peers?.refresh().catch((error: unknown) => {
    logger.error(`what this node has for others cannot be looked at: ${messageOf(error)}`);
  });
}

interface Suppliers {
  readonly provider: EngineProvider;
  readonly weights: WeightStore;
}

/** With what an earlier agent left running taken over already. */
export async function nodeReplicas(options: AgentOptions, wiring: Wiring, suppliers: Suppliers): Promise<Replicas> {
  const { config, paths, logger } = options;
  const { supervisor, engine_ports: range } = config;
  const sourceOf = (engine: string) => wiring.desired?.engines[engine];
  const { nvidia_smi: tool, prefer_nvml: preferNvml } = config.discovery;
  const driver = { tool, preferNvml, env: options.env };
  const gpuUse = createGpuUse(driver);
  const prepare = createPrepare({ ...suppliers, sourceOf });
  const prepareAndLook: Prepare = async (replica, request) => {
    const prepared = await prepare(replica, request);
    // An engine or weights may have come with it.
    wiring.watch?.refresh();
    return prepared;
  };
  const replicas = new Replicas(
    {
      ...{
        clock: systemClock,
        random: Math.random,
        logger,
        workDir: paths.workDir,
        bootId: (await readBootId()) ?? "",
      },
      prepare: prepareAndLook,
      engineOf,
      ports: new PortBook(range),
      address: () => wiring.address,
      isLocal: (address) => listAddresses().some((own) => own.address === address),
      stopTimeout: supervisor.stop_timeout,
      healthInterval: supervisor.health_interval,
      logLines: supervisor.log_lines,
      gpus: () => wiring.watch?.current().gpus ?? [],
      engineOptions: (name) => engineOptions(config.engines, name),
      engineTls: config.engine_tls,
      fabricPorts: (name) => wiring.watch?.current().fabrics.find((fabric) => fabric.name === name)?.ports ?? [],
      gpuHolders: createGpuHolders(driver),
      measure: (pids, gpus) => measureMemory(pids, gpus, { memoryOf: readProcessMemory, gpuUse }),
    },
    () => wiring.link?.changed(),
  );
  await replicas.adopt();
  return replicas;
}

/** Programs apart, which the engine's provider knows. */
function engineOptions(engines: AgentConfig["engines"], name: string): Readonly<Record<string, string>> {
  const said = Object.entries(engines).find(([engine]) => engine === name)?.[1] ?? {};
  const options = Object.entries(said).filter(
    ([key, value]) => key !== "bin" && key !== "python" && value !== undefined,
  );
  return Object.fromEntries(options.map(([key, value]) => [key, String(value)]));
}

export function inventorySources(
  options: AgentOptions,
  wiring: Wiring,
  { provider, weights }: Suppliers,
): InventorySources {
  const { config, paths, env } = options;
  const { fabrics, discovery } = config;
  return {
    controlPlanes: config.server.map(hostOf),
    mgmtAddr: config.mgmt_addr,
    mgmtInterface: config.mgmt_interface,
    labels: config.labels,
    enginePorts: config.engine_ports,
    workDir: paths.workDir,
    weightFolders: [paths.weightsDir, ...config.model_dirs],
    readGpus: createGpuReader({
      tool: discovery.nvidia_smi,
      preferNvml: discovery.prefer_nvml,
      lastKnown: lastKnownIn(join(paths.workDir, "gpus.json")),
      env,
      clock: systemClock,
    }),
    readFabrics: createFabricReader({
      root: discovery.ib_root,
      fabrics: fabrics.map(({ name, hcas, rate_gbps: rateGbps }) => ({ name, hcas, rateGbps })),
      clock: systemClock,
    }),
    foundEngines: () => foundEngines(provider),
    heldWeights: () => weights.held(),
    weightProblems: () => wiring.scrub?.problems ?? [],
  };
}

/** A build that cannot be used is a fault of the node only where no other of its engine can. */
async function foundEngines(provider: EngineProvider): Promise<FoundEngines> {
  const all = await Promise.all(ENGINES.map(({ name }) => provider.found(name)));
  return {
    builds: all.flatMap(({ builds }) => builds),
    problems: all.flatMap(({ builds, refusals }) => (builds.length === 0 ? refusals : [])),
    notes: all.flatMap(({ builds, refusals }) => (builds.length === 0 ? [] : refusals)),
  };
}

export function controlLink(
  { config, nodeId, logger, env }: AgentOptions,
  wiring: Wiring,
  node: NodeParts,
): ControlLink {
  const { replicas, watch, weights, identity } = node;
  const link = new ControlLink({
    servers: config.server,
    dial: createDial(identity, env),
    node: {
      id: nodeId,
      instanceId: randomUUID(),
      heartbeatInterval: config.heartbeat_interval,
      inventory: () => watch.current(),
      observed: () => replicas.observed,
      logPathOf: (id) => replicas.logPathOf(id),
      hideKey: (id, lines) => replicas.hideKey(id, lines),
      sharing: wiring.peers,
      onDesired: (desired) => {
        wiring.desired = desired;
        if (desired.weightsConcurrency > 0) weights.setConcurrency(desired.weightsConcurrency);
        replicas.apply(desired);
        link.changed();
      },
      onCertificate: (pem, error) => void wiring.renewal?.answered(pem, error),
    },
    backoff: { base: config.reconnect_base, max: config.reconnect_max },
    ...{ clock: systemClock, random: Math.random, logger },
  });
  identity.whenCertified((tls, { cert: path }) => {
    tls.onChange(() => {
      link.renew();
    });
    const ask = (): boolean => link.requestCertificate();
    wiring.renewal = new CertificateRenewal({ tls, path, ask, clock: systemClock, logger });
  });
  wiring.link = link;
  return link;
}

interface NodeParts {
  readonly replicas: Replicas;
  readonly watch: InventoryWatch;
  readonly weights: WeightStore;
  readonly identity: AgentIdentity;
}

/** An agent whose numbers cannot be read still does its work: that it cannot be asked is said, and no more. */
export async function offerMetrics(
  { config, nodeId, logger }: AgentOptions,
  { link, peers }: { readonly link: ControlLink; readonly peers: Peers | undefined },
  { replicas, watch }: Pick<NodeParts, "replicas" | "watch">,
): Promise<() => Promise<void>> {
  const address = config.metrics_listen;
  if (address === undefined) return () => Promise.resolve();
  const page = (): string =>
    agentMetrics({
      nodeId,
      isConnected: () => link.isConnected,
      losses: () => link.losses,
      supervisions: () => replicas.supervisions,
      gpuProblems: () => watch.current().gpus.map(({ problem }) => problem),
      weightsBytes: () => peers?.bytes ?? { origin: 0, peer: 0 },
    });
  try {
    const server = await serveMetrics(page, address);
    logger.info(`metrics are on http://${writeListen(address)}/metrics`);
    return () => server.close();
  } catch (error) {
    logger.error(
      `metrics_listen: ${writeListen(address)} cannot be had: ${messageOf(error)}; the agent goes on without it`,
    );
    return () => Promise.resolve();
  }
}
