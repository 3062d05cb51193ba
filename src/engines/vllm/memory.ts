import type { MemoryOptions } from "../safetensors/memory.ts";

export const MEMORY_OPTIONS: MemoryOptions = {
  context: ["--max-model-len"],
  cacheType: ["--kv-cache-dtype"],
  stepTokens: ["--max-num-batched-tokens"],
  // On GPUs of 70 GiB and more; on smaller ones it is 2048.
  stepTokensUnsaid: 8192,
};
