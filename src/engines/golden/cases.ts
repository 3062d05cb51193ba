import type { GangPart } from "../../core/gang-part.ts";
import { gpuUuid } from "../../core/ids.ts";
import type { Launch } from "../engine.ts";

/** Launches of which the whole command is kept in a file, and shown to the real programs' own parsers. */
export interface LaunchCase {
  readonly name: string;
  readonly launch: Launch;
}

const GPUS = [0, 1, 2, 3].map((n) => gpuUuid(`GPU-00000000-0000-4000-8000-00000000000${String(n)}`));

const part = (rank: number, own: Partial<GangPart> = {}): GangPart => ({
  rank,
  ranks: 2,
  masterHost: "10.0.0.11",
  masterPort: 41_900,
  ownAddress: `10.0.0.1${String(rank + 1)}`,
  ownInterface: "=eth0",
  hcas: rank === 0 ? "=mlx5_0:1,mlx5_3:1" : "=mlx5_1:1,mlx5_2:1",
  ...own,
});

const ADAPTERS = [
  { name: "support-bot", path: "/w/support-lora" },
  { name: "a,b", path: "/w/x=1" },
] as const;

/** An engine's own program, and the release of it. */
export interface Program {
  readonly binary: string;
  readonly version: string;
}

/** Of a build whose version nobody knows, on a GPU whose place nobody knows. */
function bareOf({ binary }: Program): Launch {
  return {
    binary,
    modelPath: "/w/Qwen3-32B",
    serves: ["qwen3-32b"],
    context: undefined,
    host: "10.0.0.11",
    port: 41_000,
    gpus: GPUS.slice(0, 1),
    apiKey: "sk-replica",
    args: [],
    env: {},
    workDir: "/var/lib/llmgw-agent/replicas/r1/work",
  };
}

const baseOf = (program: Program): Launch => ({ ...bareOf(program), version: program.version, gpuIndexes: [0] });

const FOUR = { gpus: GPUS, gpuIndexes: [0, 1, 2, 3] };
const GANG = { ...FOUR, parallel: { tensor: 4, pipeline: 2 }, context: 32_768 };

const casesOf =
  (base: Launch) =>
  (name: string, change: Partial<Launch>): LaunchCase => ({ name, launch: { ...base, ...change } });

/** The same situations for every engine that loads safetensors. */
export function launchCases(program: Program): readonly LaunchCase[] {
  const base = baseOf(program);
  const of = casesOf(base);
  const bare = casesOf(bareOf(program));
  return [
    of("one-gpu", {}),
    of("half-a-gpu", { gpuShare: 0.5, context: 8192 }),
    bare("no-key-no-version", { apiKey: "" }),
    of("served-names", { serves: ["qwen3-32b", "default"], context: 32_768 }),
    of("tensor-4", { ...FOUR, parallel: { tensor: 4, pipeline: 1 } }),
    bare("gpus-without-places", { gpus: GPUS, parallel: { tensor: 4, pipeline: 1 } }),
    of("head", { ...GANG, gang: part(0) }),
    of("follower", { ...GANG, gang: part(1), host: "10.0.0.12" }),
    of("follower-roce", { ...GANG, gang: part(1, { hcas: "=roceP2p1s0f1:1", ownInterface: "=enp1s0" }) }),
    of("follower-without-fabric", { ...GANG, gang: part(1, { hcas: undefined, ownInterface: undefined }) }),
    of("gang-own-interfaces", { ...GANG, gang: part(0), env: { NCCL_SOCKET_IFNAME: "^docker0", NCCL_DEBUG: "INFO" } }),
    of("adapters", { adapters: ADAPTERS }),
    of("tls", { tls: { certFile: "/w/tls/engine.pem", keyFile: "/w/tls/engine-key.pem" } }),
    of("own-arguments", {
      args: ["--trust-remote-code", "--kv-cache-dtype", "fp8_e5m2"],
      env: { HF_HUB_OFFLINE: "0", CUDA_VISIBLE_DEVICES: "7" },
    }),
  ];
}

/** Over several nodes with Ray, for an engine that can. */
export function rayCases(program: Program): readonly LaunchCase[] {
  const of = casesOf(baseOf(program));
  const asked = { args: ["--distributed-executor-backend", "ray"] };
  const nodeOptions = { launch_mode: "ray", ray_bin: "/opt/ray/bin/ray" };
  return [
    of("ray-head", { ...GANG, ...asked, gang: part(0) }),
    of("ray-worker", { ...GANG, ...asked, gang: part(1) }),
    of("ray-by-the-node", { ...GANG, nodeOptions, gang: part(0) }),
    of("ray-by-the-node-but-not-asked", {
      ...GANG,
      nodeOptions,
      gang: part(0),
      args: ["--distributed-executor-backend=mp"],
    }),
  ];
}
