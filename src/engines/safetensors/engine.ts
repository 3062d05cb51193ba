import type { Engine } from "../engine.ts";
import { checkOpenaiProof } from "../openai-proof.ts";
import { chooseFiles } from "./files.ts";

/** What engines have in common that load safetensors onto the GPUs of one node or several, and speak OpenAI's API. */
export const SAFETENSORS_ENGINE = {
  formats: ["safetensors"],
  spansNodes: true,
  servesOn: (rank) => rank === 0,
  needsGpu: true,
  chooseFiles,
  checkProof: checkOpenaiProof,
  readDevices: () => [],
} as const satisfies Partial<Engine>;
