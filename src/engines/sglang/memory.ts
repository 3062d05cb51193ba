import type { MemoryOptions } from "../safetensors/memory.ts";

export const MEMORY_OPTIONS: MemoryOptions = {
  context: ["--context-length"],
  cacheType: ["--kv-cache-dtype"],
  stepTokens: ["--chunked-prefill-size"],
  // On GPUs of 80 GiB; on smaller ones it is less.
  stepTokensUnsaid: 8192,
};
