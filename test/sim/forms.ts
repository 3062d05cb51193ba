import type { Inventory } from "../../src/core/node.ts";
import { bytes, gpuUuid } from "../../src/core/ids.ts";
import { GiB, gpu, inventory } from "../fakes/values.ts";

/** What a node of the simulated cluster is. */
export interface NodeForm {
  readonly id: string;
  readonly address: string;
  readonly gpus: readonly string[];
  readonly rack: string;
  /** "" : it is on none. */
  readonly fabric: string;
}

const GPUS = 4;

/** Two on each fabric, and an odd one on none. */
export const nodeForms = (count: number): readonly NodeForm[] =>
  Array.from({ length: count }, (_, index): NodeForm => {
    const id = `n${String(index + 1)}`;
    const isOdd = index === count - 1 && count % 2 === 1;
    return {
      id,
      address: `10.0.0.${String(index + 1)}`,
      gpus: Array.from({ length: GPUS }, (_gpu, number) => `GPU-${id}-${String(number)}`),
      rack: index < 2 ? "r1" : "r2",
      fabric: isOdd ? "" : `ib-${String(Math.floor(index / 2))}`,
    };
  });

/** As its agent finds it. `failed`: the GPUs that have fallen off the bus. */
export function inventoryOf({ id, address, gpus, rack, fabric }: NodeForm, failed: ReadonlySet<string>): Inventory {
  const port = { hca: "mlx5_0", port: 1, state: "ACTIVE", linkLayer: "InfiniBand", rateGbps: 400 };
  const ports = [{ ...port, pciBusId: "", numaNode: undefined, addresses: [] }];
  return inventory({
    hostname: id,
    address,
    memoryTotal: bytes(256 * GiB),
    memoryAvailable: bytes(250 * GiB),
    labels: { rack },
    engines: ["llama.cpp", "vllm"].map((name) => ({
      ...{ name, version: "1.0", origin: "configured", path: `/opt/${name}`, devices: [] },
    })),
    gpus: gpus.map((uuid, index) => ({
      ...gpu(uuid, { index, problem: failed.has(uuid) ? "has fallen off the bus" : undefined }),
      uuid: gpuUuid(uuid),
    })),
    fabrics: fabric === "" ? [] : [{ name: fabric, hcas: ["mlx5_0"], rateGbps: 400, ports, problem: undefined }],
  });
}

/** What there is to run. A variant is another form of the same: its replicas are other ones. */
export interface ProfileForm {
  readonly name: string;
  /** Left out: it follows its load. */
  readonly replicas?: number;
  readonly variant: number;
  /** Its engines end right after their start. */
  readonly isBad?: boolean;
}

const ROLLOUT = { surge: 1, unavailable: 0, drain: "60s" };
const SHAPES: Readonly<Record<string, object>> = {
  chat: { engine: "llama.cpp", resources: { gpus: 1 }, model: { source: "hf:acme/chat/model.gguf" } },
  small: {
    engine: "llama.cpp",
    resources: { gpus: 1, gpu_memory: "9GiB" },
    model: { source: "hf:acme/small/model.gguf" },
  },
  racked: {
    engine: "auto",
    resources: { gpus: 2 },
    node_selector: { rack: "r1" },
    model: { source: "hf:acme/racked/model.gguf" },
  },
  tidal: {
    engine: "llama.cpp",
    resources: { gpus: 1 },
    replicas: { min: 0, max: 3, target_in_flight: 2, idle: "20s" },
    model: { source: "hf:acme/tidal/model.gguf" },
  },
  big: {
    engine: "vllm",
    resources: { gpus: 1, nodes: 2 },
    parallel: { tensor: 2 },
    model: { source: "hf:acme/big-safetensors" },
  },
};

export const PROFILES = Object.keys(SHAPES);
/** Of which there are as many as somebody says. */
export const COUNTED = PROFILES.filter((name) => name !== "tidal");
/** So many fit beside each other on three nodes, wherever they were put. */
export const LAST_COUNTS: Readonly<Record<string, number>> = { chat: 1, small: 1, racked: 0, big: 1 };

export const manifestOf = ({ name, replicas, variant, isBad = false }: ProfileForm): string =>
  JSON.stringify({
    ...{ kind: "Profile", name, rollout: ROLLOUT, start_timeout: "40s" },
    ...SHAPES[name],
    ...(replicas === undefined ? {} : { replicas }),
    env: { VARIANT: String(variant) },
    ...(isBad ? { args: ["--no-such-flag"] } : {}),
  });
