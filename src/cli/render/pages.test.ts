import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import {
  GetStatusResponseSchema,
  ModelSchema,
  NodeSchema,
  ProfileSchema,
  ReplicaSchema,
} from "../../wire/gen/llmgw/v1/admin_pb.js";
import { EventSchema } from "../../wire/gen/llmgw/v1/common_pb.js";
import { eventColumns, modelColumns, nodeColumns, processColumns, profileColumns, replicaColumns } from "./columns.ts";
import { nodePage } from "./node-page.ts";
import { statusPage } from "./status-page.ts";
import { table } from "./table.ts";

const NOW = 1_800_000_000_000;
const GIB = 2 ** 30;
const ago = (seconds: number) => timestampFromMs(NOW - seconds * 1000);
const looking = { now: millis(NOW), colours: pc.createColors(false) };
const look = { width: undefined, colours: looking.colours };

const node = create(NodeSchema, {
  id: "gpu-a-01",
  state: "degraded",
  reasons: ["GPU 1 fell off the bus"],
  cordoned: true,
  lastSeen: ago(2),
  joinedAt: ago(7200),
  replicas: ["qwen3-0", "qwen3-1"],
  inventory: {
    address: "10.0.0.11",
    agentVersion: "0.1.0",
    os: "Debian GNU/Linux 12",
    arch: "x64",
    cpus: 64,
    memoryTotal: 512 * GIB,
    memoryAvailable: 500 * GIB,
    disks: [{ path: "/var/lib/llmgw-weights", total: 1000 * GIB, free: 400 * GIB }],
    gpus: [
      { uuid: "GPU-1", index: 0, name: "NVIDIA H100", memoryTotal: 80 * GIB, memoryFree: 79 * GIB },
      { uuid: "GPU-2", index: 1, name: "NVIDIA H100", memoryTotal: 80 * GIB, problem: "fell off the bus" },
    ],
    engines: [{ name: "llama.cpp", version: "b11669", origin: "installed", path: "/opt/l", devices: ["CUDA0"] }],
    labels: { rack: "r12" },
  },
});
const profile = create(ProfileSchema, {
  name: "qwen3",
  serves: ["qwen3", "default"],
  source: "hf:Qwen/Qwen3-32B",
  engine: "auto",
  replicas: 2,
  ready: 1,
  specHash: "abc",
  createdAt: ago(7200),
});
const replica = create(ReplicaSchema, {
  id: "qwen3-0",
  profile: "qwen3",
  state: "ready",
  node: "gpu-a-01",
  reason: "serving",
  endpoint: { host: "10.0.0.11", port: 41_000 },
  restarts: 1,
  since: ago(90),
  pid: 4711,
  inFlight: 3,
  engine: "llama.cpp b11669",
});
const event = create(EventSchema, {
  id: 7,
  at: ago(5),
  level: "warning",
  subjectKind: "node",
  subject: "gpu-a-01",
  reason: "NodeDegraded",
  message: "GPU 1 fell off the bus",
});
const models = [
  create(ModelSchema, { name: "default", profile: "qwen3", ready: 1, replicas: 2 }),
  create(ModelSchema, {
    name: "phi",
    profile: "phi",
    ready: 0,
    replicas: 1,
    waitingFor: "fetching phi.gguf: 45% of 2 GiB",
  }),
];

test("lists", () => {
  expect(table(nodeColumns(looking), [node], look)).toMatchInlineSnapshot(`
    "NAME      STATE              REPLICAS  GPUS            CPUS   MEMORY  ADDRESS    SEEN  REASON
    gpu-a-01  degraded,cordoned         2  2× NVIDIA H100    64  512 GiB  10.0.0.11    2s  GPU 1 fell off the bus
    "
  `);
  expect(table(profileColumns(looking), [profile], look)).toMatchInlineSnapshot(`
    "NAME   READY  RANGE  ENGINE  SERVES         AGE  SOURCE
    qwen3    1/2      -  auto    qwen3,default   2h  hf:Qwen/Qwen3-32B
    "
  `);
  expect(table(replicaColumns(looking), [replica], look)).toMatchInlineSnapshot(`
    "NAME     PROFILE  STATE  NODE      RESTARTS  SINCE  REASON
    qwen3-0  qwen3    ready  gpu-a-01         1    90s  serving
    "
  `);
  expect(table(processColumns(looking), [replica], look)).toMatchInlineSnapshot(`
    "REPLICA  NODE      STATE  IN FLIGHT   PID  ENDPOINT         ENGINE            SINCE
    qwen3-0  gpu-a-01  ready          3  4711  10.0.0.11:41000  llama.cpp b11669    90s
    "
  `);
  expect(table(modelColumns(looking), models, look)).toMatchInlineSnapshot(`
    "NAME     READY  PROFILE  WAITING FOR
    default    1/2  qwen3    -
    phi        0/1  phi      fetching phi.gguf: 45% of 2 GiB
    "
  `);
  expect(table(eventColumns(looking), [event], look)).toMatchInlineSnapshot(`
    "AGE  LEVEL    SUBJECT        REASON        MESSAGE
     5s  warning  node/gpu-a-01  NodeDegraded  GPU 1 fell off the bus
    "
  `);
});

test("a node's page", () => {
  expect(nodePage(node, looking)).toMatchInlineSnapshot(`
    "gpu-a-01
      State     degraded,cordoned
                GPU 1 fell off the bus
      Seen      2s ago; joined 2h ago
      Address   10.0.0.11
      System    Debian GNU/Linux 12 x64, agent 0.1.0
      CPUs      64
      Memory    500 GiB of 512 GiB available
      Disks     /var/lib/llmgw-weights  400 GiB of 1000 GiB free
      GPUs      0  NVIDIA H100  79 GiB of 80 GiB free  GPU-1
                1  NVIDIA H100  0 B of 80 GiB free  GPU-2  (fell off the bus)
      Fabrics   none
      Engines   llama.cpp b11669  installed  /opt/l  CUDA0
      Weights   none
      Labels    rack=r12
      Notes     none
      Replicas  qwen3-0
                qwen3-1
    "
  `);
});

const status = create(GetStatusResponseSchema, {
  serverVersion: "0.1.0",
  startedAt: ago(7300),
  nodes: { ready: 2 },
  replicas: { ready: 3 },
  gpus: 8,
  gpusInUse: 6,
  profiles: 2,
  requestsInFlight: 4,
  routerUrl: "http://10.0.0.1:8080",
});
const server = "http://10.0.0.1:7443";

test("status when all is well has nothing alarming in it", () => {
  const page = statusPage({ status, models: models.slice(0, 1), server }, { ...looking, width: undefined });
  expect(page).toMatchInlineSnapshot(`
    "All is well.

    Nodes     2 ready
    GPUs      6 of 8 in use
    Replicas  3 ready
    Requests  4 in flight
    Router    http://10.0.0.1:8080
    Server    http://10.0.0.1:7443, llmgw 0.1.0, up 2h

    NAME     READY  PROFILE
    default    1/2  qwen3
    "
  `);
  expect(page).not.toMatch(/!|attention|fail|lost/i);
});

test("status with trouble says so first, the model that nobody serves before the others", () => {
  const troubled = { ...status, attention: ["node gpu-a-01 is lost"], nodes: { ready: 1, lost: 1 } };
  expect(statusPage({ status: troubled, models, server }, { ...looking, width: undefined })).toMatchInlineSnapshot(`
    "Needs attention
    ! node gpu-a-01 is lost

    Nodes     1 ready, 1 lost
    GPUs      6 of 8 in use
    Replicas  3 ready
    Requests  4 in flight
    Router    http://10.0.0.1:8080
    Server    http://10.0.0.1:7443, llmgw 0.1.0, up 2h

    NAME     READY  PROFILE  WAITING FOR
    phi        0/1  phi      fetching phi.gguf: 45% of 2 GiB
    default    1/2  qwen3    -
    "
  `);
});

test("status of a cluster with nothing in it", () => {
  const empty = create(GetStatusResponseSchema, { serverVersion: "0.1.0", startedAt: ago(1) });
  expect(statusPage({ status: empty, models: [], server }, { ...looking, width: undefined })).toMatchInlineSnapshot(`
    "All is well. Nothing is to be served yet: \`llmgw ctl run SOURCE\` is the shortest way.

    Nodes     none yet: start \`llmgw agent\` on a node
    GPUs      none
    Replicas  none
    Requests  0 in flight
    Router    none in this server
    Server    http://10.0.0.1:7443, llmgw 0.1.0, up 1s
    "
  `);
});

test("a profile that follows its load shows between what, and why it is where it is", () => {
  const range = { min: 0, max: 4, why: "scaled to 0: idle for 10m" };
  const idle = create(ProfileSchema, { name: "q", engine: "auto", serves: ["q"], range });
  const rows = table(profileColumns(looking), [idle], { ...look, wide: true }).split("\n");
  expect(rows[0]).toMatch(/READY +RANGE +ENGINE.* SCALED/);
  expect(rows[1]).toMatch(/0\/0 +0–4 +auto.* scaled to 0: idle for 10m/);
  const status = create(GetStatusResponseSchema, {
    scaling: ["q: 0 of 0 to 4: idle", "r: 1 of 0 to 2: for 1 request"],
  });
  const page = statusPage({ status, models: [], server: "http://s" }, { ...looking, width: undefined });
  expect(page).toContain("By load   q: 0 of 0 to 4: idle\n          r: 1 of 0 to 2: for 1 request\n");
});
