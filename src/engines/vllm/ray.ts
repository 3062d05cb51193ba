import { fingerprint } from "../../core/fingerprint.ts";
import type { GangPart } from "../../core/gang-part.ts";
import { hostAndPort } from "../../core/host-port.ts";
import type { EngineCommand, EngineFile, Launch } from "../engine.ts";
import { optionsOf } from "../options.ts";

type Argv = EngineCommand["argv"];

/** A signal reaches the whole group, so that it is only waited for here, and what Ray wrote is removed after it. */
const FOLDER = `ray=$1 folder=$2
shift 2
rm -rf "$folder"
mkdir -m 700 "$folder" || exit
await() {
  wait "$1"
  status=$?
  while kill -0 "$1" 2>/dev/null; do
    wait "$1"
    status=$?
  done
}
`;

/**
 * Ray has to run before the engine and end after it, and the engine's exit is what counts. The arguments are Ray, its
 * folder, its five options, and the engine.
 */
const HEAD = `${FOLDER}trap : TERM INT
"$ray" start --head --block --temp-dir="$folder" "$1" "$2" "$3" "$4" "$5" &
cluster=$!
shift 5
until "$ray" health-check --address="$RAY_ADDRESS" >/dev/null 2>&1; do
  kill -0 "$cluster" 2>/dev/null || { echo "Ray did not start" >&2; rm -rf "$folder"; exit 1; }
  sleep 1
done
"$@" &
engine=$!
await "$engine"
kill "$cluster" 2>/dev/null
wait "$cluster"
rm -rf "$folder"
exit "$status"`;

/** The head may need longer to start. Whoever started this one gives up on it in time. */
const WORKER = `${FOLDER}trap 'rm -rf "$folder"; exit 143' TERM INT
until "$ray" health-check --address="$RAY_ADDRESS" >/dev/null 2>&1; do sleep 1; done
trap : TERM INT
"$ray" start --block --temp-dir="$folder" "$@" &
await "$!"
rm -rf "$folder"
exit "$status"`;

/** Whether a replica over several nodes is started with Ray: its own arguments say so, else the node's configuration. */
export function usesRay({ gang, args, nodeOptions }: Launch): boolean {
  if (gang === undefined) return false;
  const backend = optionsOf(args).value("--distributed-executor-backend") ?? nodeOptions?.["launch_mode"];
  return backend === "ray";
}

/** The command of one rank: the head starts the cluster and `engine` in it, any other joins the cluster. */
export function rayArgv(launch: Launch, gang: GangPart, engine: Argv): Argv {
  const { binary, nodeOptions, gpus } = launch;
  const ray = nodeOptions?.["ray_bin"] ?? `${binary.slice(0, binary.lastIndexOf("/"))}/ray`;
  const folder = `/tmp/llmgw-ray-${fingerprint(launch.workDir).slice(0, 10)}`;
  const own = [`--node-ip-address=${gang.ownAddress}`, `--num-gpus=${String(gpus.length)}`, "--disable-usage-stats"];
  if (gang.rank > 0) return ["/bin/sh", "-c", WORKER, "sh", ray, folder, `--address=${address(gang)}`, ...own];
  const head = [`--port=${String(gang.masterPort)}`, ...own, "--include-dashboard=false"];
  return ["/bin/sh", "-c", HEAD, "sh", ray, folder, ...head, ...engine];
}

const address = ({ masterHost, masterPort }: GangPart): string => hostAndPort(masterHost, masterPort);

/** Whoever can talk to a cluster can run anything on it, so that it asks for a token: of this replica alone. */
export function rayEnvironment(gang: GangPart, apiKey: string): Readonly<Record<string, string>> {
  return {
    RAY_ADDRESS: address(gang),
    RAY_USAGE_STATS_ENABLED: "0",
    // All that runs there is this replica. A rank whose head went first would wait for it in vain.
    RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S: "0",
    ...(apiKey === "" ? {} : { RAY_AUTH_MODE: "token", RAY_AUTH_TOKEN: apiKey }),
  };
}

/** What differs from node to node: vLLM copies the head's environment to all of them, but for what this file names. */
const OWN_OF_EACH_NODE = ["NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "GLOO_SOCKET_IFNAME"] as const;

export const rayFiles = (configFolder: string): readonly EngineFile[] => [
  { path: `${configFolder}/ray_non_carry_over_env_vars.json`, text: `${JSON.stringify(OWN_OF_EACH_NODE)}\n` },
];
