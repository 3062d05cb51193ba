import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import pc from "picocolors";
import { expect, test } from "vitest";
import { millis } from "../../core/ids.ts";
import { NodeSchema } from "../../wire/gen/llmgw/v1/admin_pb.js";
import { nodePage } from "./node-page.ts";

const NOW = 1_800_000_000_000;
const GIB = 2 ** 30;
const looking = { now: millis(NOW), colours: pc.createColors(false) };

const nv = (to: string, lanes = 18) => ({ to, kind: "nvlink", lanes });
const card = (nth: number, links: readonly object[], more = {}) => ({
  uuid: `GPU-${String(nth)}`,
  index: nth,
  name: "NVIDIA H100 80GB HBM3",
  memoryTotal: 80 * GIB,
  memoryFree: 79 * GIB,
  driverVersion: "570.86.15",
  computeCapability: "9.0",
  pciBusId: `0000:${(0x1b + nth).toString(16)}:00.0`,
  numaNode: nth < 2 ? 0 : 1,
  links: [...links],
  ...more,
});
const port = (nth: number, more = {}) => ({
  hca: `mlx5_${String(nth)}`,
  port: 1,
  state: "ACTIVE",
  linkLayer: "InfiniBand",
  rateGbps: 400,
  pciBusId: `0000:${(0x40 + nth).toString(16)}:00.0`,
  numaNode: 0,
  ...more,
});

test("everything on one page: what is wrong first, links as a matrix, each fabric with its verdict", () => {
  const node = create(NodeSchema, {
    id: "gpu-a-01",
    state: "degraded",
    reasons: ["GPU 2 (0000:1d:00.0): lost: it has fallen off the bus", "fabric ib-b: there is no adapter mlx5_3"],
    lastSeen: timestampFromMs(NOW - 2_000),
    joinedAt: timestampFromMs(NOW - 7_200_000),
    replicas: ["qwen3-0"],
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
        card(0, [nv("GPU-1"), { to: "GPU-3", kind: "sys" }]),
        card(1, [nv("GPU-0"), { to: "GPU-3", kind: "unknown" }]),
        card(2, [], {
          uuid: "0000:1d:00.0",
          name: "NVIDIA GPU at 0000:1d:00.0",
          memoryTotal: 0,
          memoryFree: 0,
          problem: "lost: it has fallen off the bus",
        }),
        card(3, [
          { to: "GPU-0", kind: "sys" },
          { to: "GPU-1", kind: "pix" },
        ]),
        card(4, [], {
          uuid: "MIG-1",
          name: "NVIDIA H100 MIG 1g.10gb",
          memoryTotal: 10 * GIB,
          memoryFree: 10 * GIB,
          parent: "GPU-4",
        }),
      ],
      fabrics: [
        {
          name: "ib-a",
          hcas: ["mlx5_0", "mlx5_1"],
          rateGbps: 400,
          ports: [port(0, { addresses: ["198.51.100.10"] }), port(1)],
        },
        { name: "ib-b", hcas: ["mlx5_3"], problem: "there is no adapter mlx5_3" },
      ],
      engines: [
        { name: "llama.cpp", version: "b11669", origin: "installed", path: "/opt/llmgw/engines/l", devices: ["CUDA0"] },
        { name: "vllm", version: "0.21.0", origin: "configured", path: "/opt/venvs/vllm/bin/vllm" },
      ],
      weights: [{ source: "hf:Qwen/Qwen3-32B", path: "/w", bytes: 64 * GIB }],
      labels: { rack: "r12" },
      notes: ["GPUs are read by NVML (libnvidia-ml.so.1)"],
    },
  });
  expect(nodePage(node, looking)).toMatchInlineSnapshot(`
    "gpu-a-01
      State     degraded
                GPU 2 (0000:1d:00.0): lost: it has fallen off the bus
                fabric ib-b: there is no adapter mlx5_3
      Seen      2s ago; joined 2h ago
      Address   10.0.0.11
      System    Debian GNU/Linux 12 x64, agent 0.1.0
      CPUs      64
      Memory    500 GiB of 512 GiB available
      Disks     /var/lib/llmgw-weights  400 GiB of 1000 GiB free
      Driver    NVIDIA 570.86.15
      GPUs      0  NVIDIA H100 80GB HBM3  79 GiB of 80 GiB free  GPU-0  0000:1b:00.0  NUMA 0
                1  NVIDIA H100 80GB HBM3  79 GiB of 80 GiB free  GPU-1  0000:1c:00.0  NUMA 0
                2  NVIDIA GPU at 0000:1d:00.0  0000:1d:00.0  NUMA 1  (lost: it has fallen off the bus)
                3  NVIDIA H100 80GB HBM3  79 GiB of 80 GiB free  GPU-3  0000:1e:00.0  NUMA 1
                4  NVIDIA H100 MIG 1g.10gb  10 GiB of 10 GiB free  MIG-1  0000:1f:00.0  NUMA 1  slice of GPU-4
      Links              0     1     2     3
                   0     -  NV18     ?   SYS
                   1  NV18     -     ?     ?
                   2     ?     ?     -     ?
                   3   SYS   PIX     ?     -
      Fabrics   ib-a  mlx5_0,mlx5_1  400 Gbit/s  as configured
                  mlx5_0:1  ACTIVE  InfiniBand  400 Gbit/s  0000:40:00.0  NUMA 0  198.51.100.10
                  mlx5_1:1  ACTIVE  InfiniBand  400 Gbit/s  0000:41:00.0  NUMA 0
                ib-b  mlx5_3  not usable: there is no adapter mlx5_3
      Engines   llama.cpp b11669  installed  /opt/llmgw/engines/l  CUDA0
                vllm 0.21.0  configured  /opt/venvs/vllm/bin/vllm
      Weights   hf:Qwen/Qwen3-32B  64 GiB
      Labels    rack=r12
      Notes     GPUs are read by NVML (libnvidia-ml.so.1)
      Replicas  qwen3-0
    "
  `);
});

test("a board that shares its memory, a port without a state, and a name that would drive the terminal", () => {
  const node = create(NodeSchema, {
    id: "spark",
    state: "ready",
    inventory: {
      gpus: [
        card(0, [], {
          name: "NVIDIA GB10",
          unified: true,
          memoryTotal: 119 * GIB,
          memoryFree: 100 * GIB,
          numaNode: undefined,
        }),
      ],
      fabrics: [
        {
          name: "roce\u001b[31m",
          hcas: ["rocep1s0f0"],
          ports: [port(0, { state: "", hca: "rocep1s0f0", linkLayer: "Ethernet" })],
        },
      ],
    },
  });
  expect(nodePage(node, looking)).toMatchInlineSnapshot(`
    "spark
      State     ready
      Seen       ago; joined  ago
      Address
      System     , agent
      CPUs      0
      Memory    0 B of 0 B available
      Disks     none
      Driver    NVIDIA 570.86.15
      GPUs      0  NVIDIA GB10  memory shared with the host, 100 GiB of 119 GiB free  GPU-0  0000:1b:00.0
      Fabrics   roce [31m  rocep1s0f0  as configured
                  rocep1s0f0:1  ?  Ethernet  400 Gbit/s  0000:40:00.0  NUMA 0
      Engines   none
      Weights   none
      Labels    none
      Notes     none
      Replicas  none
    "
  `);
});

test("files on their way are named with where they come from", () => {
  const node = create(NodeSchema, {
    id: "gpu-a-01",
    state: "ready",
    transfers: [
      { key: "hf--acme--m--c0ffee/q/m-1.gguf", done: GIB, bytes: 4 * GIB, from: ["gpu-b-01", "gpu-c-01"] },
      { key: "hf--acme--m--c0ffee/q/m-2.gguf", done: 0, bytes: 4 * GIB, from: [] },
    ],
  });
  expect(nodePage(node, looking)).toContain(
    "Fetching  q/m-1.gguf  1.0 GiB of 4.0 GiB  from gpu-b-01, gpu-c-01\n" +
      "            q/m-2.gguf  0 B of 4.0 GiB  waits for a node that has it",
  );
});
