import type { EngineCommand, Launch, LaunchAdapter } from "../engine.ts";
import { optionsOf } from "../options.ts";
import { cutOf } from "../python/cut.ts";
import { gangDefaults, ownVariables, pythonDefaults } from "../python/environment.ts";
import { tlsArgs } from "../python/tls.ts";
import { keyGuard } from "./key-guard.ts";
import { rayArgv, rayEnvironment, rayFiles, usesRay } from "./ray.ts";
import { isAtLeast } from "./version.ts";

/** Requests to these come every few seconds from the agent, and would drown everything else in the log. */
const UNLOGGED = "/health,/metrics";

/** Adapters that can be worked with in one step; each takes memory on the GPU. */
const MOST_ADAPTERS_AT_ONCE = 8;

/** The command line, the whole environment and the files of one vLLM process. */
export function command(launch: Launch): EngineCommand {
  const { gang } = launch;
  const guard = keyGuard(launch);
  const serve = [launch.binary, ...ownArgs(launch), ...guard.args, ...launch.args] as const;
  const env = { ...environment(launch), ...guard.env };
  if (gang === undefined || !usesRay(launch)) return { argv: serve, env, files: guard.files };
  const configFolder = `${launch.workDir}/vllm-config`;
  const rayEnv = { ...rayEnvironment(gang, launch.apiKey), VLLM_CONFIG_ROOT: configFolder };
  const files = [...guard.files, ...rayFiles(configFolder)];
  return { argv: rayArgv(launch, gang, serve), env: { ...env, ...rayEnv }, files };
}

function ownArgs(launch: Launch): readonly string[] {
  const { context, version } = launch;
  return [
    ...["serve", launch.modelPath],
    ...["--host", launch.host, "--port", String(launch.port)],
    ...tlsArgs(launch),
    ...["--served-model-name", ...launch.serves],
    ...(context === undefined ? [] : ["--max-model-len", String(context)]),
    ...memoryArgs(launch),
    ...parallelArgs(launch),
    ...adapterArgs(launch.adapters ?? []),
    // Without it the engine does not say how much of a prompt came from its cache.
    "--enable-prompt-tokens-details",
    ...(isAtLeast(version, [0, 16]) ? ["--disable-access-log-for-endpoints", UNLOGGED] : []),
  ];
}

/** Left to itself the engine takes nearly all of the GPU, whoever else was promised a part of it. */
function memoryArgs({ gpuShare, args }: Launch): readonly string[] {
  const isNamed = optionsOf(args).has("--gpu-memory-utilization", "--kv-cache-memory-bytes");
  return gpuShare === undefined || isNamed ? [] : ["--gpu-memory-utilization", shareText(gpuShare)];
}

/** Rounded down: shares of one GPU must not come to more than all of it. */
const shareText = (share: number): string => (Math.floor(share * 1000) / 1000).toFixed(3);

function parallelArgs(launch: Launch): readonly string[] {
  const { gang, args } = launch;
  const { tensor, pipeline } = cutOf(launch);
  const cut = [
    ...(tensor > 1 ? ["--tensor-parallel-size", String(tensor)] : []),
    ...(pipeline > 1 ? ["--pipeline-parallel-size", String(pipeline)] : []),
  ];
  if (gang === undefined) return cut;
  if (usesRay(launch)) {
    const isSaid = optionsOf(args).has("--distributed-executor-backend");
    return isSaid ? cut : [...cut, "--distributed-executor-backend", "ray"];
  }
  return [
    ...cut,
    ...["--nnodes", String(gang.ranks), "--node-rank", String(gang.rank)],
    ...["--master-addr", gang.masterHost, "--master-port", String(gang.masterPort)],
    ...(gang.rank === 0 ? [] : ["--headless"]),
  ];
}

function adapterArgs(adapters: readonly LaunchAdapter[]): readonly string[] {
  if (adapters.length === 0) return [];
  const atOnce = Math.min(adapters.length, MOST_ADAPTERS_AT_ONCE);
  return ["--enable-lora", "--max-loras", String(atOnce), "--lora-modules", ...adapters.map(adapterText)];
}

/** As JSON: in the short form, name=path, a comma or another sign of the kind would end it. */
const adapterText = ({ name, path }: LaunchAdapter): string => JSON.stringify({ name, path });

/**
 * The profile may set anything but which GPUs, where the ranks meet, and the key. No VLLM_PORT: it is where the search for
 * ports between the engine's own processes begins, and would end at the ports of others.
 */
function environment(launch: Launch): Readonly<Record<string, string>> {
  const { gang, apiKey } = launch;
  return {
    ...pythonDefaults(launch),
    ...gangDefaults(gang),
    VLLM_NO_USAGE_STATS: "1",
    ...ownVariables(launch),
    CUDA_VISIBLE_DEVICES: launch.gpus.join(","),
    ...(gang === undefined ? {} : { VLLM_HOST_IP: gang.ownAddress }),
    ...(apiKey === "" ? {} : { VLLM_API_KEY: apiKey }),
  };
}
