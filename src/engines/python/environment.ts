import type { GangPart } from "../../core/gang-part.ts";
import type { Launch } from "../engine.ts";
import { withoutLoopback } from "../nccl-network.ts";

/** Kernels are compiled at a first start: `nvcc` is looked for on PATH. */
const SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/cuda/bin";

/** The path of a socket may have 107 bytes, and the engines put 37 after the folder for temporary files. */
const LONGEST_TEMP_FOLDER = 70;

type Variables = Readonly<Record<string, string>>;

/**
 * What every engine that is a program of Python gets: nothing of the agent's own environment, no word to its makers, and
 * no look for anything on the Hub, since what it needs was fetched. The profile may change these.
 */
export function pythonDefaults({ binary, workDir }: Pick<Launch, "binary" | "workDir">): Variables {
  return {
    // Of the environment that the program is in: `ninja` is there.
    PATH: `${binary.slice(0, binary.lastIndexOf("/"))}:${SYSTEM_PATH}`,
    HOME: workDir,
    TMPDIR: tempFolder(workDir),
    LANG: "C.UTF-8",
    // The last words of a program that is killed are in its log.
    PYTHONUNBUFFERED: "1",
    CUDA_DEVICE_ORDER: "PCI_BUS_ID",
    HF_HUB_OFFLINE: "1",
    HF_HUB_DISABLE_TELEMETRY: "1",
    DO_NOT_TRACK: "1",
  };
}

const tempFolder = (workDir: string): string => (workDir.length <= LONGEST_TEMP_FOLDER ? workDir : "/tmp");

/**
 * Over which interface and adapters a rank talks to the others, each named whole. Left to themselves, vLLM takes the
 * address of the default route, NCCL the first interface that begins with "ib", and gloo that of the host's name.
 */
export function gangDefaults(gang: GangPart | undefined): Variables {
  if (gang === undefined) return {};
  const { ownInterface, hcas } = gang;
  return {
    // gloo takes a bare name; the sign is NCCL's.
    ...(ownInterface === undefined
      ? {}
      : { NCCL_SOCKET_IFNAME: ownInterface, GLOO_SOCKET_IFNAME: ownInterface.replace(/^=/, "") }),
    ...(hcas === undefined ? { NCCL_IB_DISABLE: "1" } : { NCCL_IB_HCA: hcas }),
  };
}

/** The profile's own variables; a list of interfaces not to take gets loopback added where ranks are to meet. */
export function ownVariables({ env, gang }: Pick<Launch, "env" | "gang">): Variables {
  const { NCCL_SOCKET_IFNAME: interfaces } = env;
  if (gang === undefined || interfaces === undefined) return env;
  return { ...env, NCCL_SOCKET_IFNAME: withoutLoopback(interfaces) };
}
