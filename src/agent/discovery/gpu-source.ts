import type { Millis } from "../../core/ids.ts";
import type { Gpu } from "../../core/node.ts";
import { readNvml } from "../../platform/nvml.ts";
import type { HostMemory } from "./meminfo.ts";
import { faultOf, nvmlSays } from "./nvml-codes.ts";
import { readNvmlGpus, type Unreachable } from "./nvml-reading.ts";

/** What one way of asking for the GPUs came to. */
export type SourceReading =
  | {
      readonly kind: "read";
      readonly gpus: readonly Gpu[];
      readonly unreachable: readonly Unreachable[];
      readonly memoryNodes: readonly number[];
      /** The library or program that said so. */
      readonly how: string;
    }
  /** It could not say which GPUs there are: that is no machine without GPUs. */
  | {
      readonly kind: "noAnswer";
      readonly reason: string;
      /** It was ended by its deadline. */
      readonly hung: boolean;
      /** The number of a process that waits in the kernel still, and cannot be ended. */
      readonly survivor?: number;
    };

/** Why a way of asking was not gone. */
export interface NotAsked {
  readonly kind: "notAsked";
  readonly reason: string;
}

/** The loader's own name first; then where WSL, container runtimes and the driver's container put it. */
export const NVML_LIBRARIES = [
  "libnvidia-ml.so.1",
  "/usr/lib/wsl/lib/libnvidia-ml.so.1",
  "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
  "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
];

interface NvmlSource {
  readonly libraries: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly deadline: Millis;
}

export async function askNvml(source: NvmlSource, host: HostMemory | undefined): Promise<SourceReading | NotAsked> {
  const answer = await readNvml(source);
  switch (answer.kind) {
    case "read":
      return { kind: "read", ...readNvmlGpus(answer, host), how: `NVML (${answer.library})` };
    case "failed":
      return {
        kind: "noAnswer",
        reason: `${faultOf(answer.code)}: ${answer.call} of ${answer.library} says: ${nvmlSays(answer.code)}`,
        hung: false,
      };
    case "notLoaded":
      return { kind: "notAsked", reason: answer.reason };
    case "noAnswer":
      return { ...answer, reason: `driver: ${answer.reason}` };
  }
}
