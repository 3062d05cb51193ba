import type { EngineCommand, Launch, LaunchAdapter } from "../engine.ts";
import { baseOf, folderOf, isProjector } from "./files.ts";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/**
 * llama-server keeps finished prompts in host memory, by default up to 8 GiB for each process: more than the weights of most
 * models, and on no account that placement knows of. 1 GiB still holds some dozen long conversations of a small model.
 */
export const PROMPT_CACHE_MIB = 1024;

/** The command line and the whole environment of one llama-server. */
export function command(launch: Launch): EngineCommand {
  return { argv: [launch.binary, ...ownArgs(launch), ...launch.args], env: environment(launch) };
}

function ownArgs(launch: Launch): readonly string[] {
  const projector = launch.files?.find((path) => isProjector(baseOf(path)));
  return [
    ...["--model", launch.modelPath],
    ...(projector === undefined ? [] : ["--mmproj", projector]),
    ...["--alias", launch.serves.join(",")],
    ...["--host", launch.host, "--port", String(launch.port)],
    ...(launch.tls === undefined ? [] : ["--ssl-cert-file", launch.tls.certFile, "--ssl-key-file", launch.tls.keyFile]),
    ...(launch.context === undefined ? [] : ["--ctx-size", String(launch.context)]),
    ...deviceArgs(launch.gpus.length),
    ...adapterArgs(launch.adapters ?? []),
    ...["--cache-ram", String(PROMPT_CACHE_MIB)],
    ...["--metrics", "--slots", "--no-ui", "--offline"],
  ];
}

/**
 * All explicit. Left to itself the engine moves layers to the CPU when memory is short, and all of them when its CUDA part
 * cannot be loaded, with no more than a warning; a device that is named and not there ends it. The names start at 0 again
 * among the GPUs that the process may see.
 */
function deviceArgs(gpus: number): readonly string[] {
  if (gpus === 0) return ["--device", "none"];
  const names = Array.from({ length: gpus }, (_, index) => `CUDA${String(index)}`);
  return ["--device", names.join(","), "--gpu-layers", "all"];
}

/**
 * In the order given, by which requests number them. Their scale is 0: without it they are in force together for each
 * request that does not say otherwise, which `--lora-init-without-apply` alone does not change, and Messages cannot say.
 */
function adapterArgs(adapters: readonly LaunchAdapter[]): readonly string[] {
  if (adapters.length === 0) return [];
  return ["--lora-scaled", adapters.map(({ path }) => `${path}:0`).join(","), "--lora-init-without-apply"];
}

/**
 * Nothing of the agent's own environment: a LLAMA_ARG_* or AIP_* in it would change the engine behind everyone's back.
 * The profile may set anything but the two that placement and routing rest on: which GPUs, and the key.
 */
function environment(launch: Launch): Readonly<Record<string, string>> {
  return {
    PATH,
    HOME: launch.workDir,
    TMPDIR: launch.workDir,
    LANG: "C.UTF-8",
    // A build whose run path names the machine it was built on still finds the libraries beside the binary.
    LD_LIBRARY_PATH: folderOf(launch.binary),
    // By UUID the right card is taken whatever the order; the order makes the engine's own numbering readable.
    CUDA_DEVICE_ORDER: "PCI_BUS_ID",
    ...launch.env,
    CUDA_VISIBLE_DEVICES: launch.gpus.join(","),
    ...(launch.apiKey === "" ? {} : { LLAMA_API_KEY: launch.apiKey }),
  };
}
