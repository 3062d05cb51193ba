import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import * as admin from "../../src/wire/gen/llmgw/v1/admin_pb.js";
import * as changing from "../../src/wire/gen/llmgw/v1/changing_pb.js";
import { EventSchema } from "../../src/wire/gen/llmgw/v1/common_pb.js";
import * as operating from "../../src/wire/gen/llmgw/v1/operating_pb.js";

// A cluster as a control plane could answer of it at one moment: always the same, to the millisecond.

export const NOW = 1_800_000_000_000;
const GIB = 2 ** 30;
const FETCHED = 966_367_642;
const ago = (seconds: number) => timestampFromMs(NOW - seconds * 1000);

const gpu = (index: number, more: { readonly problem?: string } = {}) => ({
  uuid: `GPU-${String(index)}`,
  index,
  name: "NVIDIA H100",
  memoryTotal: 80 * GIB,
  memoryFree: (index === 0 ? 12 : 79) * GIB,
  driverVersion: "570.1",
  computeCapability: "9.0",
  ...more,
});
const llama = { name: "llama.cpp", version: "b11669", origin: "installed", path: "/opt/llmgw/l", devices: ["CUDA0"] };
const vllm = { name: "vllm", version: "0.33.0", origin: "installed", path: "/opt/llmgw/v", devices: ["CUDA0"] };

const nodes = create(admin.ListNodesResponseSchema, {
  nodes: [
    {
      id: "gpu-a-01",
      state: "ready",
      lastSeen: ago(2),
      joinedAt: ago(7200),
      replicas: ["qwen3-7f3a"],
      inventory: {
        hostname: "gpu-a-01",
        address: "10.0.0.11",
        agentVersion: "0.1.0",
        os: "Debian GNU/Linux 12",
        arch: "x64",
        cpus: 64,
        memoryTotal: 512 * GIB,
        memoryAvailable: 500 * GIB,
        disks: [{ path: "/var/lib/llmgw-weights", total: 1000 * GIB, free: 400 * GIB }],
        gpus: [gpu(0), gpu(1)],
        engines: [llama, vllm],
        weights: [{ source: "hf:Qwen/Qwen3-32B", path: "/var/lib/llmgw-weights/q", bytes: 60 * GIB }],
        labels: { rack: "r12" },
      },
    },
    {
      id: "gpu-b-01",
      state: "degraded",
      reasons: ["GPU 1 fell off the bus"],
      cordoned: true,
      lastSeen: ago(1),
      joinedAt: ago(90),
      replicas: ["phi-00c1"],
      inventory: {
        hostname: "gpu-b-01",
        address: "10.0.0.12",
        agentVersion: "0.1.0",
        os: "Ubuntu 24.04",
        arch: "arm64",
        cpus: 72,
        memoryTotal: 480 * GIB,
        memoryAvailable: 470 * GIB,
        gpus: [gpu(1, { problem: "fell off the bus" })],
        engines: [{ ...llama, origin: "path", path: "/usr/bin/llama-server", devices: [] }],
      },
    },
  ],
});

const manifest = {
  kind: "Profile",
  name: "qwen3",
  serves: ["qwen3", "default"],
  model: { source: "hf:Qwen/Qwen3-32B" },
};
const profiles = create(admin.ListProfilesResponseSchema, {
  profiles: [
    {
      name: "phi",
      serves: ["phi"],
      source: "file:/srv/phi.gguf",
      engine: "llama.cpp",
      replicas: 1,
      ready: 0,
      specHash: "0c1d2e3f",
      createdAt: ago(300),
      updatedAt: ago(300),
      manifest: JSON.stringify({ kind: "Profile", name: "phi", model: { source: "file:/srv/phi.gguf" } }),
    },
    {
      name: "qwen3",
      serves: ["qwen3", "default"],
      source: "hf:Qwen/Qwen3-32B",
      engine: "auto",
      replicas: 2,
      ready: 1,
      specHash: "7f3a1b2c",
      createdAt: ago(7200),
      updatedAt: ago(600),
      manifest: JSON.stringify(manifest),
    },
  ],
});

const replicas = create(admin.ListReplicasResponseSchema, {
  replicas: [
    {
      id: "phi-00c1",
      profile: "phi",
      state: "preparing",
      node: "gpu-b-01",
      reason: "fetching phi.gguf: 45% of 2.0 GiB, 50 MiB/s, 22s left",
      progress: { what: "fetching phi.gguf", bytesDone: FETCHED, bytesTotal: 2 * GIB, bytesPerSecond: 50 * 2 ** 20 },
      specHash: "0c1d2e3f",
      since: ago(20),
      createdAt: ago(25),
    },
    {
      id: "qwen3-7f3a",
      profile: "qwen3",
      state: "ready",
      node: "gpu-a-01",
      reason: "serving",
      endpoint: { host: "10.0.0.11", port: 41_000 },
      restarts: 1,
      specHash: "7f3a1b2c",
      since: ago(3700),
      createdAt: ago(7200),
      gpuUuids: ["GPU-0"],
      engine: "vllm 0.33.0",
      pid: 4711,
      inFlight: 3,
      estimate: { gpus: 1, weights: 60 * GIB, kvCache: 4 * GIB, overhead: 2 * GIB, total: 66 * GIB, perGpu: 66 * GIB },
      estimateOrigin: "from the model's header on node gpu-a-01",
      measured: [{ node: "gpu-a-01", memory: { host: 5 * GIB, gpus: [{ uuid: "GPU-0", bytes: 64 * GIB }] } }],
    },
    {
      id: "qwen3-9d2e",
      profile: "qwen3",
      state: "pending",
      reason: "no node takes it: gpu-a-01: 66 GiB of GPU memory are wanted and 12 GiB are free",
      rejections: [
        { node: "gpu-a-01", filter: "gpu memory", reason: "66 GiB of GPU memory are wanted and 12 GiB are free" },
        { node: "gpu-b-01", filter: "cordon", reason: "is cordoned" },
      ],
      specHash: "7f3a1b2c",
      since: ago(40),
      createdAt: ago(40),
    },
  ],
});

const status = create(admin.GetStatusResponseSchema, {
  serverId: "5d0c",
  serverVersion: "0.1.0",
  startedAt: ago(7300),
  attention: ["replica qwen3-9d2e is pending: no node takes it", "node gpu-b-01: GPU 1 fell off the bus"],
  nodes: { ready: 1, degraded: 1 },
  replicas: { ready: 1, preparing: 1, pending: 1 },
  gpus: 3,
  gpusInUse: 1,
  profiles: 2,
  requestsInFlight: 3,
  routerUrl: "http://10.0.0.1:8080",
});

const models = create(admin.ListModelsResponseSchema, {
  models: [
    { name: "default", profile: "qwen3", ready: 1, replicas: 2 },
    { name: "phi", profile: "phi", replicas: 1, waitingFor: "fetching phi.gguf: 45% of 2.0 GiB" },
    { name: "qwen3", profile: "qwen3", ready: 1, replicas: 2 },
  ],
});

const events = [
  { id: 6, at: ago(40), level: "info", subjectKind: "replica", subject: "qwen3-9d2e", reason: "ReplicaPending" },
  { id: 7, at: ago(5), level: "warning", subjectKind: "node", subject: "gpu-b-01", reason: "NodeDegraded" },
].map((event) => create(EventSchema, { ...event, message: `${event.subject} in words` }));

const key = { id: "k1", name: "laptop", prefix: "sk-llmgw-x7Kd2q", state: "active", createdAt: ago(86_400) };

const tokens = [
  {
    id: "t1",
    kind: "join",
    prefix: "llmgw-join-4Fq0aZ",
    state: "active",
    createdAt: ago(600),
    createdBy: "the admin token from 10.0.0.9",
    expiresAt: ago(-3000),
    uses: 3,
    usesLeft: 2,
    nodes: ["gpu-b-01"],
  },
  {
    id: "t2",
    kind: "user",
    prefix: "llmgw-user-Zz91kQ",
    state: "active",
    createdAt: ago(86_400),
    createdBy: "the admin token from 10.0.0.9",
    expiresAt: ago(-86_400),
    name: "alice",
    role: "operator",
  },
];

const explanation: MessageInitShape<typeof admin.ExplainResponseSchema> = {
  profile: "qwen3",
  replica: "qwen3-9d2e",
  state: "pending",
  reason: "no node takes it",
  source: "hf:Qwen/Qwen3-32B",
  basis: "header",
  origin: "from the model's header on node gpu-a-01",
  kvPerToken: 262_144,
  onGpus: [{ gpus: 1, context: 32_768, weights: 60 * GIB, kvCache: 4 * GIB, total: 66 * GIB, perGpu: 66 * GIB }],
  nodes: [
    {
      node: "gpu-a-01",
      refusals: [{ rule: "gpu memory", reason: "12 GiB are free", changes: ["free 54 GiB", "set context to 4096"] }],
    },
    { node: "gpu-b-01", refusals: [{ rule: "cordon", reason: "is cordoned", changes: ["uncordon it"] }] },
  ],
};

const plan = create(changing.PlanResponseSchema, {
  changes: [
    {
      kind: "Profile",
      name: "qwen3",
      outcome: "changed",
      fields: [
        { path: "replicas", before: "2", after: "3" },
        { path: "context", before: "", after: "4096" },
      ],
      places: [{ node: "gpu-a-01", gpuUuids: ["GPU-1"], fetches: true, fetchBytes: 60 * GIB }],
      restarted: 1,
      leastReady: 1,
      ready: 1,
      sentences: ["1 replica is replaced: each new one is ready before an old one goes"],
    },
  ],
});

const rollout = create(changing.GetRolloutResponseSchema, {
  profile: "qwen3",
  state: "underway",
  sentence: "1 of 2 replicas of revision 2 are ready",
  updated: 2,
  ready: 1,
  wanted: 2,
  revisions: [
    { number: 1, at: ago(7200), origin: "apply", outcome: "replaced", manifest: JSON.stringify(manifest) },
    { number: 2, at: ago(600), origin: "apply", outcome: "underway", manifest: JSON.stringify(manifest) },
  ],
});

const found = <T extends { readonly [K in N]: string }, N extends string>(
  list: readonly T[],
  name: N,
  asked: string,
): T[] => list.filter((one) => asked === "" || one[name] === asked);

/** Everything that `llmgw ctl` may ask. Orders are taken and change nothing. */
/** One that was sent twice, because the first replica fell silent. */
const request = {
  ...{ number: 7n, requestId: "req-5b1e", keyId: "k1", keyName: "laptop", model: "default", profile: "qwen3" },
  ...{ replica: "qwen3-9d2e", path: "/v1/chat/completions", stream: true, code: 200, outcome: "complete" },
  ...{ endedAt: ago(90), durationMs: 4200, firstTokenMs: 1350, waitedMs: 300, attempts: 2, served: true },
  ...{ promptTokens: 1200, cachedTokens: 1024, completionTokens: 96 },
  tries: [
    {
      ...{ replica: "qwen3-7f3a", replicas: 2, candidates: 2, inFlight: 3, why: "prefix-affinity", atMs: 310 },
      failure: "the engine said nothing for 500ms after the request was sent",
    },
    {
      ...{ replica: "qwen3-9d2e", replicas: 2, candidates: 1, inFlight: 0, why: "least-in-flight, after 1 failed" },
      atMs: 820,
    },
  ],
};

export const fixedCluster = {
  getStatus: () => status,
  listNodes: ({ id }: admin.ListNodesRequest) => ({ nodes: found(nodes.nodes, "id", id) }),
  listProfiles: ({ name }: admin.ListProfilesRequest) => ({ profiles: found(profiles.profiles, "name", name) }),
  listReplicas: ({ id, profile }: admin.ListReplicasRequest) => ({
    replicas: found(found(replicas.replicas, "id", id), "profile", profile),
  }),
  listModels: () => models,
  listEvents: ({ subject, after }: admin.ListEventsRequest) => ({
    events: found(events, "subject", subject).filter(({ id }) => id > after),
  }),
  listEngines: () => ({
    engines: [
      { node: "gpu-a-01", build: llama },
      { node: "gpu-a-01", build: vllm, replicas: ["qwen3-7f3a"] },
      { node: "gpu-b-01", build: { ...llama, origin: "path", path: "/usr/bin/llama-server", devices: [] } },
    ],
  }),
  listWeights: () => ({
    weights: [
      {
        ...{ node: "gpu-a-01", source: "hf:Qwen/Qwen3-32B", state: "held", bytes: 60 * GIB, profiles: ["qwen3"] },
        path: "/var/lib/llmgw-weights/q",
      },
      {
        ...{ node: "gpu-b-01", source: "file:/srv/phi.gguf", state: "fetching", bytes: FETCHED, profiles: ["phi"] },
        from: ["gpu-a-01"],
        progress: { what: "fetching phi.gguf", bytesDone: FETCHED, bytesTotal: 2 * GIB },
      },
    ],
  }),
  apply: () => ({
    applied: [
      { kind: "Profile", name: "qwen3", outcome: "changed" },
      { kind: "Profile", name: "phi", outcome: "unchanged" },
    ],
  }),
  delete: ({ kind, name }: admin.DeleteRequest) => ({
    notes:
      kind === "node"
        ? [
            `the join token token-1a2b3c4d (llmgw-join-Gb81xQ…) for the node ${name} was revoked`,
            `2 certificates of ${name} revoked`,
          ]
        : [],
  }),
  plan: () => plan,
  scale: () => ({ before: 2 }),
  restart: () => ({ profile: "qwen3", replicas: ["qwen3-7f3a"] }),
  getRollout: () => rollout,
  undoRollout: () => ({ revision: 1 }),
  cordon: () => ({}),
  drain: () => ({ deadline: ago(-900), sentences: ["a replica of qwen3 is made on gpu-b-01 first"] }),
  explain: () => create(admin.ExplainResponseSchema, explanation),
  async *logs() {
    yield await Promise.resolve({ lines: ["loading the model", "listening"] });
  },
  createKey: () => ({ key, secret: "sk-llmgw-x7Kd2q0123456789012345678901234567890" }),
  listKeys: () => ({ keys: [{ ...key, models: ["qwen3"], limits: { requestsPerMinute: 60, tokensPerDay: 2e6 } }] }),
  revokeKey: () => ({ key: { ...key, state: "revoked", revokedAt: ago(0) } }),
  createToken: () => ({ token: tokens[0], secret: `llmgw-join-4Fq0aZ${"0".repeat(37)}`, serverUrl: "" }),
  listTokens: () => ({ tokens }),
  revokeToken: () => ({ token: { ...tokens[1], state: "revoked", revokedAt: ago(0) } }),
  getCaller: () => ({ name: "alice", role: "operator" }),
  getUsage: () => ({
    rows: [
      {
        ...{ keyName: "laptop", keyId: "k1", model: "qwen3", requests: 42, promptTokens: 90_000, cachedTokens: 60_000 },
        ...{ completionTokens: 12_345, estimated: 1 },
      },
      { keyName: "laptop", keyId: "k1", model: "phi", requests: 1, promptTokens: 12, completionTokens: 3 },
    ],
  }),
  getRequest: ({ requestId }: { readonly requestId: string }) => {
    if (requestId !== "req-5b1e") throw new ConnectError(`There is no request "${requestId}".`, Code.NotFound);
    return { requests: [{ router: "router-1", record: request }] };
  },
  export: () =>
    create(operating.ExportResponseSchema, {
      manifest: "kind: Profile\nname: qwen3\nmodel:\n  source: hf:Qwen/Qwen3-32B\n",
      notes: ["node gpu-b-01 is cordoned: llmgw ctl cordon gpu-b-01"],
    }),
};
