import { hostAndPort } from "../../core/host-port.ts";
import type { EngineCommand, EngineFile, Launch, LaunchAdapter } from "../engine.ts";
import { optionsOf } from "../options.ts";
import { cutOf } from "../python/cut.ts";
import { gangDefaults, ownVariables, pythonDefaults } from "../python/environment.ts";
import { tlsArgs } from "../python/tls.ts";

/** The command line, the whole environment and the files of one SGLang process; `binary` is its Python. */
export function command(launch: Launch): EngineCommand {
  const files = keyFiles(launch);
  const args = [...files.flatMap(({ path }) => ["--config", path]), ...ownArgs(launch), ...launch.args];
  return { argv: [launch.binary, "-m", "sglang.launch_server", ...args], env: environment(launch), files };
}

/**
 * The program takes its key from no variable, only from an option, and an option can also stand in a file of settings.
 * Others read a command line as they please; the file is the owner's alone.
 */
function keyFiles({ workDir, apiKey }: Launch): readonly EngineFile[] {
  if (apiKey === "") return [];
  return [{ path: `${workDir}/sglang-key.yaml`, text: `api-key: ${JSON.stringify(apiKey)}\n` }];
}

function ownArgs(launch: Launch): readonly string[] {
  const { context, serves } = launch;
  return [
    ...["--model-path", launch.modelPath],
    ...["--host", launch.host, "--port", String(launch.port)],
    ...tlsArgs(launch),
    // One name is all that it takes; it answers to any other as well.
    ...serves.slice(0, 1).flatMap((name) => ["--served-model-name", name]),
    ...(context === undefined ? [] : ["--context-length", String(context)]),
    ...memoryArgs(launch),
    ...parallelArgs(launch),
    ...adapterArgs(launch.adapters ?? []),
    "--enable-metrics",
    // Without it the engine does not say how much of a prompt came from its cache.
    "--enable-cache-report",
  ];
}

/** Weights and cache together; what computing takes comes on top, and is left out of the share for that. */
function memoryArgs({ gpuShare, args }: Launch): readonly string[] {
  if (gpuShare === undefined || optionsOf(args).has("--mem-fraction-static")) return [];
  return ["--mem-fraction-static", (Math.floor(gpuShare * STATIC_PART * 1000) / 1000).toFixed(3)];
}

/** Of what the engine takes of a GPU in all. Its own default is between 0.8 and 0.9 of the GPU. */
const STATIC_PART = 0.88;

function parallelArgs(launch: Launch): readonly string[] {
  const { gang } = launch;
  const { tensor, pipeline } = cutOf(launch);
  return [
    ...(tensor > 1 ? ["--tp-size", String(tensor)] : []),
    ...(pipeline > 1 ? ["--pp-size", String(pipeline)] : []),
    ...(gang === undefined
      ? []
      : [
          ...["--nnodes", String(gang.ranks), "--node-rank", String(gang.rank)],
          ...["--dist-init-addr", hostAndPort(gang.masterHost, gang.masterPort)],
        ]),
    // It finds out which cards are neighbours by their numbers, and cannot read a UUID for one.
    ...(launch.gpus.length > 1 && indexesOf(launch) === undefined ? ["--disable-custom-all-reduce"] : []),
  ];
}

function indexesOf({ gpus, gpuIndexes }: Launch): readonly number[] | undefined {
  return gpus.length > 1 && gpuIndexes?.length === gpus.length ? gpuIndexes : undefined;
}

function adapterArgs(adapters: readonly LaunchAdapter[]): readonly string[] {
  return adapters.length === 0 ? [] : ["--enable-lora", "--lora-paths", ...adapters.map(adapterText)];
}

const adapterText = ({ name, path }: LaunchAdapter): string => JSON.stringify({ lora_name: name, lora_path: path });

/** The profile may set anything but which GPUs, and where the ranks meet. */
function environment(launch: Launch): Readonly<Record<string, string>> {
  const { gang, gpus } = launch;
  const indexes = indexesOf(launch);
  return {
    ...pythonDefaults(launch),
    ...gangDefaults(gang),
    // A health page that generates a token each time is work every few seconds, and late when there is other work.
    SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION: "false",
    ...ownVariables(launch),
    ...(indexes === undefined
      ? { CUDA_VISIBLE_DEVICES: gpus.join(",") }
      : // Numbers name the right cards in this order only.
        { CUDA_VISIBLE_DEVICES: indexes.join(","), CUDA_DEVICE_ORDER: "PCI_BUS_ID" }),
    ...(gang === undefined ? {} : { SGLANG_HOST_IP: gang.ownAddress }),
  };
}
