import { bytes, gpuUuid, millis, nodeId, profileName, replicaId } from "../../src/core/ids.ts";
import type { ClusterNode, Gpu, Inventory } from "../../src/core/node.ts";
import type { ModelFacts } from "../../src/core/model-facts.ts";
import type { EngineOffer } from "../../src/scheduler/ask.ts";
import { type Profile, specHash } from "../../src/core/profile.ts";
import type { Replica, ReplicaState } from "../../src/core/replica-state.ts";
import type { UsageRecord } from "../../src/core/usage.ts";

// Plain values with every field filled in, for tests that care for one or two of them.

export const MiB = 2 ** 20;
export const GiB = 2 ** 30;

export const gpu = (uuid: string, more: Partial<Gpu> = {}): Gpu => ({
  uuid: gpuUuid(uuid),
  index: 0,
  name: "L40S",
  memoryTotal: bytes(24_000 * MiB),
  memoryFree: bytes(24_000 * MiB),
  unified: false,
  problem: undefined,
  driverVersion: "570.1",
  computeCapability: "8.9",
  pciBusId: "",
  numaNode: undefined,
  links: [],
  parent: undefined,
  ...more,
});

export const inventory = (more: Partial<Inventory> = {}): Inventory => ({
  hostname: "host",
  address: "10.0.0.1",
  agentVersion: "0.1.0",
  os: "linux",
  arch: "x64",
  cpus: 8,
  memoryTotal: bytes(64 * GiB),
  memoryAvailable: bytes(60 * GiB),
  disks: [{ path: "/var/lib/llmgw-weights", total: bytes(1000 * GiB), free: bytes(500 * GiB) }],
  gpus: [],
  engines: [],
  weights: [],
  fabrics: [],
  labels: {},
  problems: [],
  notes: [],
  ...more,
});

export const node = (id: string, has: Partial<Inventory> = {}, more: Partial<ClusterNode> = {}): ClusterNode => ({
  id: nodeId(id),
  inventory: inventory({ hostname: id, ...has }),
  liveness: "connected",
  cordoned: false,
  joinedAt: millis(0),
  lastSeen: millis(0),
  ...more,
});

export const profile = (name: string, more: Partial<Profile> = {}): Profile => ({
  name: profileName(name),
  serves: [name],
  model: { source: `hf:acme/${name}/model.gguf`, files: [], sha256: {} },
  engine: "auto",
  replicas: { kind: "fixed", count: 1 },
  resources: { nodes: 1 },
  parallel: { tensor: 1, pipeline: 1 },
  nodeSelector: {},
  adapters: {},
  args: [],
  env: {},
  startTimeout: millis(1_800_000),
  rollout: { surge: 1, unavailable: 0, drain: millis(300_000) },
  ...more,
});

/** Engines that any node can install, none of a certain version. */
export const offer = (
  ...installable: readonly string[]
): EngineOffer & { readonly engines: Record<string, never> } => ({
  installable,
  engines: {},
  spanning: ["vllm", "sglang"],
});

export const ready: ReplicaState = {
  kind: "ready",
  endpoint: { host: "10.0.0.1", port: 41_000 },
  slots: 4,
  engine: "llama.cpp b1",
};

export const replica = (
  id: string,
  of: Profile,
  state: ReplicaState,
  more: Partial<Replica> & { readonly on?: string } = {},
): Replica => {
  const { on = "n1", ...rest } = more;
  return {
    id: replicaId(id),
    profile: of.name,
    specHash: specHash(of),
    state,
    placement:
      state.kind === "pending" ? undefined : { node: nodeId(on), gpus: [], memory: bytes(GiB), gpuMemory: bytes(0) },
    apiKey: `key-of-${id}`,
    restarts: 0,
    pid: undefined,
    generation: 0,
    createdAt: millis(0),
    since: millis(0),
    ...rest,
  };
};

/** Of Llama 3.1 8B: 128 KiB a token in f16. */
export const facts = (more: Partial<ModelFacts> = {}): ModelFacts => ({
  format: "gguf",
  architecture: "llama",
  layers: 32,
  heads: 32,
  kvHeads: [8],
  keyLength: 128,
  valueLength: 128,
  latent: undefined,
  embedding: 4096,
  slidingWindow: undefined,
  slidingLayers: 0,
  contextLength: 131_072,
  vocabulary: 128_256,
  experts: undefined,
  ...more,
});

/** A record of one request under the key k1, to be altered. */
export const usageRecord = (more: Partial<UsageRecord> & Pick<UsageRecord, "number">): UsageRecord => ({
  opened: more.number,
  requestId: `req-${String(more.number)}`,
  keyId: "k1",
  keyName: "app",
  model: "m",
  profile: "p",
  replica: "p-1",
  path: "/v1/chat/completions",
  stream: false,
  code: 200,
  outcome: "complete",
  detail: "",
  endedAt: millis(1_700_000_000_000),
  duration: millis(12),
  firstToken: undefined,
  waited: millis(0),
  attempts: 1,
  tries: [],
  served: true,
  tokens: { prompt: 1, cached: 0, completion: 1, estimated: false },
  ...more,
});
