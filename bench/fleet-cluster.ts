import { bytes, gpuUuid, millis, type NodeId, nodeId } from "../src/core/ids.ts";
import type { Gpu, GpuLink, Inventory } from "../src/core/node.ts";
import type { ObservedReplica } from "../src/core/observed.ts";
import type { Profile } from "../src/core/profile.ts";
import { type Replica, sharesOf } from "../src/core/replica-state.ts";
import type { Snapshot, StoredNode } from "../src/store/store.ts";
import type { Gathered } from "../src/control/decide.ts";
import { gathered, heardAt } from "../test/fakes/gathered.ts";
import { snapshot, stored, storedSpec, storedNode } from "../test/fakes/snapshots.ts";
import { GiB, gpu, inventory, profile, replica } from "../test/fakes/values.ts";

// A fleet as plain values: nodes of 8 GPUs, 2 replicas for each node, and 50 replicas in a profile.

const GPUS = 8;
export const REPLICAS_PER_NODE = 2;
export const REPLICAS_PER_PROFILE = 50;
const NODES_PER_FABRIC = 16;
const GPU_MEMORY = bytes(80 * GiB);
const NOW = millis(1_700_000_000_000);

export const nameOf = (n: number): string => `node-${String(n).padStart(5, "0")}`;

const uuidOf = (node: number, index: number): string => `GPU-${String(node).padStart(8, "0")}-0000-${String(index)}`;

const linksOf = (node: number, index: number): readonly GpuLink[] =>
  Array.from({ length: GPUS }, (_, to) => to)
    .filter((to) => to !== index)
    .map((to) => ({ to: gpuUuid(uuidOf(node, to)), kind: "nvlink", lanes: 18 }));

/** As an agent tells it of a machine with 8 GPUs behind an NVSwitch; `busy` of them have an engine's weights in memory. */
export function inventoryOf(n: number, busy = 0): Inventory {
  const gpus = Array.from({ length: GPUS }, (_, index): Gpu =>
    gpu(uuidOf(n, index), {
      ...{ index, name: "H100 80GB HBM3", memoryTotal: GPU_MEMORY, driverVersion: "570.124.06" },
      memoryFree: bytes(index < busy ? GiB : GPU_MEMORY),
      ...{ computeCapability: "9.0", pciBusId: `0000:${String(index)}b:00.0`, numaNode: index < GPUS / 2 ? 0 : 1 },
      links: linksOf(n, index),
    }),
  );
  return inventory({
    ...{ hostname: nameOf(n), address: `10.${String(n >> 8)}.${String(n & 255)}.1`, gpus, cpus: 128 },
    ...{ memoryTotal: bytes(2048 * GiB), memoryAvailable: bytes(1900 * GiB) },
    engines: [{ name: "llama.cpp", version: "b11669", origin: "installed", path: "/opt/llmgw/llama.cpp", devices: [] }],
    weights: [{ source: sourceOf(n), path: "/var/lib/llmgw-weights/m", bytes: bytes(16 * GiB) }],
    fabrics: [
      {
        ...{ name: `ib-${String(Math.floor(n / NODES_PER_FABRIC))}`, hcas: ["mlx5_0"], rateGbps: 400, ports: [] },
        problem: undefined,
      },
    ],
    labels: { rack: `r${String(Math.floor(n / NODES_PER_FABRIC))}`, zone: `z${String(n % 3)}` },
  });
}

const sourceOf = (n: number): string => `hf:acme/model-${String(n % 100)}/model.gguf`;

export const profileOf = (n: number, count: number, gpus: number): Profile =>
  profile(`model-${String(n).padStart(4, "0")}`, {
    model: { source: sourceOf(n), files: [], sha256: {} },
    replicas: { kind: "fixed", count },
    resources: { nodes: 1, gpus, memory: bytes(16 * GiB) },
  });

const GPUS_PER_REPLICA = 2;

function replicaOf(n: number, of: Profile): Replica {
  const node = Math.floor(n / REPLICAS_PER_NODE);
  const first = (n % REPLICAS_PER_NODE) * GPUS_PER_REPLICA;
  const gpus = [first, first + 1].map((index) => gpuUuid(uuidOf(node, index)));
  const id = `${of.name}-${String(n).padStart(6, "0")}`;
  const port = 41_000 + (n % REPLICAS_PER_NODE);
  const endpoint = { host: `10.${String(node >> 8)}.${String(node & 255)}.1`, port };
  return replica(
    id,
    of,
    { kind: "ready", endpoint, slots: 8, engine: "llama.cpp b11669" },
    { placement: { node: nodeId(nameOf(node)), gpus, memory: bytes(16 * GiB), gpuMemory: GPU_MEMORY }, pid: 4711 },
  );
}

export interface Fleet {
  readonly snapshot: Snapshot;
  /** Every node is connected and says that its replicas are ready. */
  readonly gathered: Gathered;
}

/** A cluster at rest. */
export function fleetOf(nodes: number): Fleet {
  const count = nodes * REPLICAS_PER_NODE;
  const profiles = Array.from({ length: Math.ceil(count / REPLICAS_PER_PROFILE) }, (_, n) =>
    profileOf(n, Math.min(REPLICAS_PER_PROFILE, count - n * REPLICAS_PER_PROFILE), GPUS_PER_REPLICA),
  );
  const replicas = profiles.flatMap((one, of) =>
    Array.from({ length: REPLICAS_PER_PROFILE }, (_, n) => of * REPLICAS_PER_PROFILE + n)
      .filter((n) => n < count)
      .map((n) => replicaOf(n, one)),
  );
  const stores = Array.from({ length: nodes }, (_, n): StoredNode => {
    return { ...storedNode(nameOf(n)), inventory: inventoryOf(n, REPLICAS_PER_NODE * GPUS_PER_REPLICA) };
  });
  const observed = observedBy(replicas);
  const heard = stores.map((node) => {
    const said = { revision: node.desiredRevision, replicas: observed.get(node.id) ?? [] };
    return [node.id, { ...heardAt(NOW, node), observed: said }] as const;
  });
  return {
    snapshot: snapshot({
      profiles: profiles.map((one) => settled(one)),
      specs: profiles.map(storedSpec),
      nodes: stores,
      replicas,
    }),
    gathered: gathered(NOW, { nodes: new Map(heard) }),
  };
}

function settled(of: Profile): Snapshot["profiles"][number] {
  const one = stored(of);
  return { ...one, revisions: one.revisions.map((revision) => ({ ...revision, outcome: "ready" })) };
}

function observedBy(replicas: readonly Replica[]): ReadonlyMap<NodeId, readonly ObservedReplica[]> {
  const reports = replicas.flatMap((one) => {
    const { state } = one;
    if (state.kind !== "ready") return [];
    const { id, profile: of, specHash: hash, restarts, pid } = one;
    const said: ObservedReplica = {
      ...{ id, profile: of, specHash: hash, restarts, pid },
      state: { ...state, context: 8192 },
    };
    return sharesOf(one.placement).map(({ node }) => ({ node, said }));
  });
  const byNode = Map.groupBy(reports, ({ node }) => node);
  return new Map([...byNode].map(([node, all]) => [node, all.map(({ said }) => said)]));
}
